"""What people fill in about a project."""

from typing import Any

from django import forms

from contextdash.limits import PLACE_CHARS
from sessions_app.models import Project

COLORS = ("teal", "royalblue", "purple", "crimson", "darkorange", "goldenrod", "olive", "gray")
"""Words of CSS that can be told apart on light and dark."""


class ProjectForm(forms.Form):
    name = forms.CharField(max_length=200, widget=forms.TextInput({"autocomplete": "off"}))
    color = forms.CharField(
        label="Colour",
        max_length=20,
        required=False,
        help_text="A word such as teal, or #4f8fd0.",
        widget=forms.TextInput({"autocomplete": "off", "list": "colors"}),
    )
    root = forms.CharField(
        label="Folder",
        max_length=PLACE_CHARS,
        required=False,
        help_text="Sessions that begin there join by themselves.",
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
    )
    remote = forms.CharField(
        label="Repository",
        max_length=PLACE_CHARS,
        required=False,
        help_text="And those in clones of it, such as github.com/team/app.",
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
    )

    @staticmethod
    def initial_of(project: Project) -> dict[str, Any]:
        return {name: getattr(project, name) for name in ("name", "color", "root", "remote")}

    def values(self) -> dict[str, str]:
        return dict(self.cleaned_data)
