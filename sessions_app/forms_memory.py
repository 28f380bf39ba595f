"""Forms with which people write into the team's memory. The services check and store."""

from django import forms

from contextdash.limits import NAME_CHARS, PATH_CHARS, TITLE_CHARS
from sessions_app.models import Project
from sessions_app.vocabulary import MessageRole, MistakeCategory, PlanStatus


def _short(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "dir": "auto"})


def session_field() -> forms.CharField:
    """A session by its id or the beginning of it; the newest are offered."""
    return forms.CharField(
        max_length=NAME_CHARS,
        help_text="Its id or the beginning of it, or latest.",
        widget=forms.TextInput(attrs={"list": "sessions", "autocomplete": "off"}),
    )


class MessageForm(forms.Form):
    session = session_field()
    role = forms.ChoiceField(
        choices=[(value, value) for value in MessageRole.values], initial=MessageRole.HANDOFF
    )
    target = forms.CharField(
        label="For whom",
        max_length=NAME_CHARS,
        required=False,
        help_text="An agent or a person; a hand-off waits in their inbox.",
        widget=forms.TextInput(attrs={"list": "agents", "autocomplete": "off", "dir": "auto"}),
    )
    content = forms.CharField(label="Message", widget=_short(8), help_text="In Markdown.")


class PlanForm(forms.Form):
    path = forms.CharField(
        max_length=PATH_CHARS,
        help_text="The plan's file or name, such as docs/refunds.plan.md; a known one gets a new version.",
    )
    title = forms.CharField(max_length=TITLE_CHARS, required=False, help_text="Else its first heading.")
    body_md = forms.CharField(
        label="Plan", strip=False, widget=_short(20), help_text="In Markdown; tasks as - [ ] are counted."
    )
    status = forms.ChoiceField(
        choices=[(value, value.replace("_", " ")) for value in PlanStatus.values],
        initial=PlanStatus.PROPOSED,
    )
    session = session_field()
    project = forms.ModelChoiceField(
        Project.objects.all(), required=False, to_field_name="slug", empty_label="the session's"
    )
    seen = forms.IntegerField(required=False, min_value=0, max_value=2**31, widget=forms.HiddenInput)
    """The newest version when the form was drawn."""


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
