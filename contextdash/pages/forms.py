"""What people fill in on Connect and on their profile."""

import zoneinfo
from functools import cache
from typing import Any

from django import forms

from contextdash.models import User
from contextdash.models.token import Scope
from contextdash.models.user import Role, Theme

_SCOPES = {
    Scope.INGEST: "send what hooks tell, and nothing else",
    Scope.WRITE: "send, read and write: sessions, decisions, findings, stories",
    Scope.READ: "read only",
    Scope.ADMIN: "all of it, with maintenance and purge",
}


class TokenForm(forms.Form):
    name = forms.CharField(
        label="Token name",
        max_length=100,
        help_text="The machine or the team, so that you can take one away without touching the others.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(label="It may", widget=forms.RadioSelect, initial=Scope.WRITE)

    def __init__(self, *args: Any, owner: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["scope"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [
            (scope.value, text) for scope, text in _SCOPES.items() if owner or scope != Scope.ADMIN
        ]


_ROLES = {
    Role.MEMBER: "member: acts on everything, and manages nobody",
    Role.VIEWER: "viewer: looks, and changes nothing",
    Role.OWNER: "owner: also manages people, tokens, corrections and purge",
}


class InviteForm(forms.Form):
    username = forms.CharField(
        label="Name",
        max_length=150,
        help_text="What they are called here: letters, digits and @ . + - _",
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
    )
    role = forms.ChoiceField(choices=_ROLES, widget=forms.RadioSelect, initial=Role.MEMBER)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=_ROLES, widget=forms.RadioSelect)
    reason = forms.CharField(
        max_length=2000,
        help_text="It goes into the history with your name.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class ProfileForm(forms.Form):
    display_name = forms.CharField(label="Name shown", max_length=150, required=False)
    time_zone = forms.ChoiceField(
        required=False, help_text="Days begin and times are told in this zone.", label="Time zone"
    )
    theme = forms.ChoiceField(choices=Theme.choices, widget=forms.RadioSelect)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [("", "as the browser says"), *((name, name.replace("_", " ")) for name in _zones())]

    @classmethod
    def of(cls, user: User) -> "ProfileForm":
        return cls(
            initial={
                "display_name": user.get_full_name(),
                "time_zone": user.time_zone,
                "theme": user.theme,
            }
        )


class PasswordForm(forms.Form):
    password = forms.CharField(
        label="New password",
        strip=False,
        required=False,
        max_length=4096,
        help_text="Left empty, the password is taken away: only links sign you in.",
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )


@cache
def _zones() -> list[str]:
    return sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC")
