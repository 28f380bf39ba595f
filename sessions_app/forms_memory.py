"""Forms with which people write decisions and mistakes down. The services check and store."""

from django import forms

from contextdash.limits import NAME_CHARS, PATH_CHARS
from sessions_app.models import Project
from sessions_app.vocabulary import MistakeCategory


def _short(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "dir": "auto"})


class DecisionForm(forms.Form):
    topic = forms.CharField(
        max_length=NAME_CHARS,
        help_text="What it is about, in the words of earlier decisions: retry-policy.",
        widget=forms.TextInput(attrs={"list": "topics", "autocomplete": "off"}),
    )
    choice = forms.CharField(widget=_short(2), help_text="What is done from now on, in one sentence.")
    rationale = forms.CharField(widget=_short(5), required=False, help_text="Why, and what it costs.")
    supersedes = forms.IntegerField(
        required=False, min_value=1, help_text="The number of the decision whose place it takes, without D-."
    )
    project = forms.ModelChoiceField(
        Project.objects.all(), required=False, to_field_name="slug", empty_label="none"
    )
    session = forms.CharField(required=False, widget=forms.HiddenInput)


class MistakeForm(forms.Form):
    summary = forms.CharField(widget=_short(2), help_text="What went wrong, in one sentence.")
    category = forms.CharField(
        max_length=NAME_CHARS,
        initial=MistakeCategory.OTHER,
        widget=forms.TextInput(attrs={"list": "categories", "autocomplete": "off"}),
    )
    agent_name = forms.CharField(
        label="Agent", max_length=NAME_CHARS, help_text="Who made it, or who tells of it."
    )
    root_cause = forms.CharField(
        widget=_short(3), required=False, help_text="Written the same way again, it is seen to recur."
    )
    fix = forms.CharField(widget=_short(3), required=False)
    lesson_md = forms.CharField(
        label="Lesson", widget=_short(5), required=False, help_text="What to do next time, in Markdown."
    )
    lesson_file = forms.CharField(
        label="Lesson's file",
        max_length=PATH_CHARS,
        required=False,
        help_text="Where it is kept; only shown, never opened. A lesson without one gets a name.",
    )
    project = forms.ModelChoiceField(
        Project.objects.all(), required=False, to_field_name="slug", empty_label="none"
    )
    session = forms.CharField(required=False, widget=forms.HiddenInput)


class MistakeEditForm(MistakeForm):
    project = None  # type: ignore[assignment]  # how Django's forms leave a field of their parent out
    session = None  # type: ignore[assignment]
    reason = forms.CharField(widget=_short(2), label="Why it is changed")
    version = forms.IntegerField(widget=forms.HiddenInput)
