from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from contextdash.actor import Actor
from contextdash.adminkit import Corrections, ModelForm, ReadOnly, moment, words
from contextdash.errors import Refused
from contextdash.models import (
    BackgroundRun,
    Change,
    Lease,
    MaskedCount,
    Receipt,
    SigninLink,
    Token,
    User,
)
from contextdash.models.token import Scope
from contextdash.models.user import Role
from contextdash.services import signin, tokens, users
from contextdash.viewkit import actor_of


class PersonForm(ModelForm):
    """A new person, made by the service."""

    actor: Actor

    class Meta:
        model = User
        fields = ("username", "role")

    def _post_clean(self) -> None:
        if self.errors:
            return
        try:
            self.instance = users.create_user(
                username=self.cleaned_data["username"], role=self.cleaned_data["role"], actor=self.actor
            )
        except Refused as refused:
            self.add_error(refused.field if refused.field in self.fields else None, refused.detail)

    def save(self, commit: bool = True) -> User:
        made: User = self.instance
        return made

    def save_m2m(self) -> None:
        """Nothing: a person's groups and permissions follow the role."""


@admin.register(User)
class UserAdmin(Corrections):
    list_display = ("username", "role", "is_active", "last_login", "date_joined")
    list_filter = (words("role", Role), "is_active")
    search_fields = ("username", "first_name", "last_name", "email")
    ordering = ("username",)
    correctable = ("role", "is_active", "first_name", "last_name", "email")
    actions = ("make_signin_link",)

    def correct(
        self, row: User, values: dict[str, Any], *, actor: Actor, reason: str, expected_version: int | None
    ) -> None:
        users.change_user(user=row, values=values, actor=actor, reason=reason)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    def get_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        return ["username", "role"] if obj is None else super().get_fields(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        if obj is None:
            return []
        hidden = {"password", "is_superuser", "is_staff"}
        return [name for name in super().get_readonly_fields(request, obj) if name not in hidden]

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm]:
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        return type("Form", (PersonForm,), {"actor": actor_of(request)})

    @admin.action(description="Make a link that signs them in, once")
    def make_signin_link(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset.filter(is_active=True):
            _, secret = signin.make_link(user=user, actor=actor_of(request))
            address = request.build_absolute_uri(f"/signin/{secret}/")
            messages.success(request, f"For {user}, within 15 minutes: {address}")


@admin.register(Token)
class TokenAdmin(ReadOnly):
    list_display = ("name", "prefix", "scope", "owner", "created_at", "last_used_at", "revoked_at")
    list_filter = (words("scope", Scope), ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "prefix", "owner__username")
    list_select_related = ("owner",)
    actions = ("revoke",)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        for token in queryset.filter(revoked_at=None):
            tokens.revoke_token(token=token, actor=actor_of(request), reason="revoked in the admin")
            messages.success(request, f"Revoked {token.name}.")


@admin.register(SigninLink)
class SigninLinkAdmin(ReadOnly):
    list_display = ("user", "created_at", "expires_at", "used_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("-id",)


@admin.register(Change)
class ChangeAdmin(ReadOnly):
    list_display = ("at", "noun", "row_id", "field", "user", "token", "reason")
    list_select_related = ("user", "token")
    search_fields = ("=noun", "=row_id")
    search_help_text = "A table and a number, such as: plans 12"
    ordering = ("-id",)
    heads = ("old", "new")


@admin.register(Receipt)
class ReceiptAdmin(ReadOnly):
    list_display = ("noun", "row_id", "at")
    search_fields = ("=noun", "=row_id")
    ordering = ("-id",)


@admin.register(Lease)
class LeaseAdmin(ReadOnly):
    list_display = ("name", "holder", moment("expires_us"))
    ordering = ("name",)


@admin.register(BackgroundRun)
class BackgroundRunAdmin(ReadOnly):
    list_display = ("name", moment("finished_us"), "took_us", moment("failed_us"), "error")
    ordering = ("name",)


@admin.register(MaskedCount)
class MaskedCountAdmin(ReadOnly):
    list_display = ("kind", "count", "last_at")
    ordering = ("kind",)
