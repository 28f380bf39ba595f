"""What the apps' admins share: lists that never count, rows that only show, corrections with a reason."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Paginator
from django.db import models
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.http import urlencode

from contextdash.actor import Actor
from contextdash.clock import from_us
from contextdash.errors import Forbidden, Refused
from contextdash.models import User
from contextdash.viewkit import actor_of

if TYPE_CHECKING:  # generic in its stub only
    ModelForm = forms.ModelForm[Any]
else:
    ModelForm = forms.ModelForm

ROWS = 50
LISTED_MOST = 10_000
"""Beyond so many rows a list does not count or page; a filter or a search gets further."""
HEAD_CHARS = 120


class Site(AdminSite):
    """For owners only; the sign-in is that of every other page."""

    site_header = "contextdash admin"
    site_title = "contextdash"
    index_title = "Corrections, with the reason in the history"

    def has_permission(self, request: HttpRequest) -> bool:
        user = request.user
        return isinstance(user, User) and user.is_active and user.is_owner

    @login_not_required
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Where Django's admin sends whom it does not let in; ``next`` is what they wanted."""
        if request.user.is_authenticated:
            raise Forbidden("The admin is for owners only.")
        wanted = request.GET.get("next") or reverse("admin:index")
        return redirect(f"{reverse('signin')}?{urlencode({'next': wanted})}")


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # its stub is generic, the class is not
    """Counts to LISTED_MOST and no further, so that a list of a million rows opens as fast as any."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        return int(rows.order_by()[:LISTED_MOST].count())


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in its stub only
    """A table that people look at: written by services, never here."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = list_max_show_all = ROWS
    actions: Any = None
    heads: ClassVar[tuple[str, ...]] = ()
    """Long texts: a list reads and shows their beginning (``head("name")``), never the whole."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if self.heads:
            rows = rows.defer(*self.heads)
            rows = rows.annotate(**{f"{name}_head": Left(name, HEAD_CHARS) for name in self.heads})
        return rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Corrections(ReadOnly):
    """A noun of people: the fields of ``correctable`` change through its own service, with a reason.

    So the history, the derived fields and the rules are the same as everywhere else. Two owners who correct
    one row at once do not overwrite each other: the form carries the version that it was drawn with.
    """

    correctable: ClassVar[tuple[str, ...]] = ()
    version_field: ClassVar[str] = "version"
    shown: ClassVar[tuple[str, ...]] = ()
    """Methods that the form shows as well."""

    def correct(
        self, row: Any, values: dict[str, Any], *, actor: Actor, reason: str, expected_version: int | None
    ) -> None:
        """Call the noun's service."""
        raise NotImplementedError

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        names = [field.name for field in self.opts.fields if field.editable or field.primary_key]
        return [*(name for name in names if name not in self.correctable), *self.shown]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*self.correctable, "reason", "seen_version", *self.get_readonly_fields(request, obj)]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm]:
        kwargs["form"] = type("Form", (CorrectionForm,), {"corrections": self, "actor": actor_of(request)})
        kwargs["fields"] = [*self.correctable, "reason", "seen_version"]
        return super().get_form(request, obj, change, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form has done it, through the service."""


class CorrectionForm(ModelForm):
    """Corrects as the last step of its validation, so that what a service refuses is an error of the form."""

    corrections: ClassVar[Corrections]
    actor: ClassVar[Actor]

    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea({"rows": 2}),
        help_text="Why this is corrected; it goes into the history with your name.",
    )
    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seen_version"].initial = getattr(self.instance, self.corrections.version_field, None)

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # Django's hook for exactly this, left out of its stubs
        if self.errors:
            return
        values = {
            name: self.cleaned_data[name]
            for name in self.changed_data
            if name in self.corrections.correctable
        }
        row = type(self.instance)._default_manager.get(pk=self.instance.pk)
        try:
            self.corrections.correct(
                row,
                values,
                actor=self.actor,
                reason=self.cleaned_data["reason"],
                expected_version=self.cleaned_data["seen_version"],
            )
        except Refused as refused:
            self.add_error(refused.field if refused.field in self.fields else None, refused.detail)


def head(name: str) -> Callable[[Any], str]:
    """A column with the beginning of a long text of ``heads``."""

    @admin.display(description=name.replace("_", " "))
    def shown(row: Any) -> str:
        text = str(getattr(row, f"{name}_head") or "")
        return f"{text}…" if len(text) == HEAD_CHARS else text

    return shown


def moment(name: str) -> Callable[[Any], Any]:
    """A column with a time that is kept in microseconds."""

    @admin.display(description=name.removesuffix("_us"), ordering=name)
    def shown(row: Any) -> Any:
        us = getattr(row, name)
        return None if us is None else from_us(us)

    return shown


def words(name: str, vocabulary: type[models.TextChoices]) -> type[admin.SimpleListFilter]:
    """A filter by the words of a vocabulary; reading what is there would be a walk through the table."""

    class Filter(admin.SimpleListFilter):
        title = name.replace("_", " ")
        parameter_name = name

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
            return list(vocabulary.choices)

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{name: self.value()}) if self.value() else queryset

    return Filter
