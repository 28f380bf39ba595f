"""What people type on the board's pages. The services check every value once more."""

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from backlog_app import words
from backlog_app.models import BacklogItem, Sprint, StoryStatus
from backlog_app.queries import sprints
from backlog_app.services.sprints import WIP_MOST
from contextdash.limits import NAME_CHARS
from contextdash.rendering.ansi import plain
from sessions_app.models import Project

_PRIORITIES = [(1, "P1, highest"), (2, "P2"), (3, "P3"), (4, "P4"), (5, "P5, lowest")]
ANY = ("", "leave as it is")


def _projects() -> list[tuple[str, str]]:
    return [("", "none"), *Project.objects.values_list("slug", "name")]


def _sprints() -> list[tuple[Any, str]]:
    return [("", "none"), *((sprint.pk, plain(sprint.name)) for sprint in sprints.joinable())]


def _set_choices(form: forms.Form, name: str, choices: Sequence[tuple[Any, str]]) -> None:
    cast("forms.ChoiceField", form.fields[name]).choices = choices


class StoryForm(forms.Form):
    story = forms.CharField(widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}), label="Story")
    acceptance_criteria = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        required=False,
        label="Acceptance criteria",
        help_text="A line each, as a Markdown list or GIVEN, WHEN, THEN; every one can be ticked.",
    )
    status = forms.ChoiceField(choices=StoryStatus.choices, label="Column")
    assigned_agent = forms.CharField(
        required=False,
        max_length=NAME_CHARS,
        label="Agent or person",
        widget=forms.TextInput(attrs={"list": "agents", "dir": "auto"}),
    )
    priority = forms.CharField(widget=forms.Select(choices=_PRIORITIES), label="Priority")
    estimate = forms.IntegerField(required=False, min_value=0, max_value=words.ESTIMATE_MOST, label="Points")
    labels = forms.CharField(required=False, label="Labels", help_text="Parted by commas.")
    project = forms.ChoiceField(required=False, label="Project")
    sprint_id = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Sprint")
    epic_id = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        label="Epic",
        help_text="The number of the story above.",
    )

    def __init__(self, *args: Any, story: BacklogItem | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = {"project": _projects(), "sprint_id": _sprints()}
        if story is not None:
            if story.status not in words.COLUMNS:
                kept = (story.status, f"as sent: {plain(story.status[:80])}")
                _set_choices(self, "status", [*StoryStatus.choices, kept])
            if story.priority_sent:
                self.fields["priority"].widget = forms.Select(
                    choices=[
                        (story.priority_sent, f"as sent: {plain(story.priority_sent[:80])}"),
                        *_PRIORITIES,
                    ]
                )
            if story.sprint is not None and not any(
                value == story.sprint_id for value, _ in choices["sprint_id"]
            ):
                choices["sprint_id"].append((story.sprint_id, f"{plain(story.sprint.name)} (closed)"))
        for name, values in choices.items():
            _set_choices(self, name, values)

    def values(self) -> dict[str, Any]:
        made = dict(self.cleaned_data)
        made["labels"] = made["labels"].split(",")
        made["assigned_agent"] = made["assigned_agent"] or None
        return made


def initial_of(story: BacklogItem) -> dict[str, Any]:
    return {
        "story": story.story,
        "acceptance_criteria": story.acceptance_criteria,
        "status": story.status,
        "assigned_agent": story.assigned_agent,
        "priority": story.priority_sent or story.priority,
        "estimate": story.estimate,
        "labels": ", ".join(story.labels),
        "project": story.project.slug if story.project else "",
        "sprint_id": story.sprint_id,
        "epic_id": story.epic_id,
    }


class SprintForm(forms.Form):
    name = forms.CharField(max_length=NAME_CHARS, label="Name")
    goal = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}), label="Goal"
    )
    starts_on = forms.DateField(
        required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), label="Starts on"
    )
    ends_on = forms.DateField(
        required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), label="Ends on"
    )


class NewSprintForm(SprintForm):
    project = forms.ChoiceField(required=False, label="Project")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_choices(self, "project", _projects())


class LimitsForm(forms.Form):
    """A number for each column; empty is no limit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for status, label in StoryStatus.choices:
            if status != StoryStatus.DONE:
                self.fields[status] = forms.IntegerField(
                    required=False, min_value=1, max_value=WIP_MOST, label=label
                )


class BulkForm(forms.Form):
    """One change for the stories that are ticked; what stays empty is left as it is."""

    status = forms.ChoiceField(required=False, choices=[ANY, *StoryStatus.choices], label="Column")
    assigned_agent = forms.CharField(
        required=False,
        max_length=NAME_CHARS,
        label="Agent or person",
        widget=forms.TextInput(attrs={"list": "agents", "dir": "auto"}),
    )
    priority = forms.ChoiceField(
        required=False,
        choices=[ANY, *((str(value), label) for value, label in _PRIORITIES)],
        label="Priority",
    )
    sprint_id = forms.ChoiceField(required=False, label="Sprint")
    add_label = forms.CharField(required=False, max_length=words.LABEL_CHARS, label="Add a label")
    reason = forms.CharField(required=False, max_length=2000, label="Reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_choices(
            self,
            "sprint_id",
            [ANY, ("none", "none"), *((str(one.pk), plain(one.name)) for one in sprints.joinable())],
        )

    def values(self) -> dict[str, Any]:
        made = {name: value for name, value in self.cleaned_data.items() if value and name != "reason"}
        if "sprint_id" in made:
            made["sprint_id"] = None if made["sprint_id"] == "none" else int(made["sprint_id"])
        return made


def first_error(form: forms.Form) -> str:
    """The first thing that is wrong, with its field's name."""
    for name, errors in form.errors.items():
        label = form.fields[name].label if name in form.fields else ""
        return f"{label}: {errors[0]}" if label else str(errors[0])
    return ""


def sprint_initial(sprint: Sprint) -> dict[str, Any]:
    return {
        "name": sprint.name,
        "goal": sprint.goal,
        "starts_on": sprint.starts_on,
        "ends_on": sprint.ends_on,
    }
