"""The form with which a person logs a finding. The service checks and stores."""

from django import forms

from contextdash.limits import NAME_CHARS, PATH_CHARS
from reviews_app.models import Severity
from sessions_app.models import Project


def _long(rows: int, *, code: bool = False) -> forms.Textarea:
    attrs: dict[str, object] = {"rows": rows, "dir": "auto"}
    return forms.Textarea(attrs=attrs | ({"class": "input mono", "spellcheck": "false"} if code else {}))


class FindingForm(forms.Form):
    target = forms.CharField(
        max_length=PATH_CHARS, help_text="path, path:line or a reference.", widget=forms.TextInput
    )
    severity = forms.ChoiceField(
        choices=[(value, value) for value in Severity.values], initial=Severity.MEDIUM
    )
    finding = forms.CharField(
        widget=_long(4), help_text="Its first line is its title; the rest may be Markdown."
    )
    code_context = forms.CharField(
        label="Code",
        widget=_long(4, code=True),
        required=False,
        help_text="The lines or the hunk it is about.",
    )
    suggested_fix = forms.CharField(
        widget=_long(4, code=True), required=False, help_text="In words, as code, or as a diff."
    )
    diff_hash = forms.CharField(
        max_length=NAME_CHARS,
        required=False,
        help_text="SHA-256 of the reviewed diff, which the gate asks for.",
        widget=forms.TextInput(attrs={"class": "input mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    session = forms.CharField(
        max_length=NAME_CHARS,
        required=False,
        help_text="Its id or the beginning of it, or latest; may be left out.",
        widget=forms.TextInput(attrs={"list": "sessions", "autocomplete": "off"}),
    )
    project = forms.ModelChoiceField(
        Project.objects.all(), required=False, to_field_name="slug", empty_label="the session's"
    )
