"""Tokens, cost and imports in the admin pages: looked at, except own prices, which are set here."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from contextdash.adminkit import ReadOnly, head, moment
from contextdash.viewkit import actor_of
from sessions_app.models import (
    CodeCount,
    Counterpart,
    ImportSource,
    Iteration,
    PriceOverride,
    Upload,
    UsageBucket,
)
from sessions_app.services import prices


@admin.register(Iteration)
class IterationAdmin(ReadOnly):
    list_display = ("key", "session_id", "model", moment("at_us"), "output_tokens", "cost_micro", "priced_by")
    search_fields = ("=session__id", "=response_id", "=request_id", "=model")
    ordering = ("-key",)
    exclude = ("identity",)
    heads = ("thinking", "prose")


@admin.register(UsageBucket)
class UsageBucketAdmin(ReadOnly):
    list_display = (moment("start_us"), "client", "agent", "model", "requests", "unpriced", "cost_micro")
    search_fields = ("=model", "=agent", "=client")


@admin.register(CodeCount)
class CodeCountAdmin(ReadOnly):
    list_display = (moment("start_us"), "session_id", "starts", "commits", "lines_added", "lines_removed")
    search_fields = ("=session__id",)


@admin.register(ImportSource)
class ImportSourceAdmin(ReadOnly):
    list_display = (
        "id",
        head("path"),
        "client",
        "session_id",
        "lines",
        "skipped",
        "partial_tail",
        "imported_at",
    )
    search_fields = ("=session_id", "path")
    heads = ("path",)
    exclude = ("path_digest", "head")


@admin.register(Upload)
class UploadAdmin(ReadOnly):
    list_display = ("id", "name", "state", "size", "read_bytes", "created_at", "finished_at")
    search_fields = ("=state", "name")


@admin.register(Counterpart)
class CounterpartAdmin(ReadOnly):
    list_display = ("key", "session_id", "noun", "row_id", moment("at_us"), "told", "began", "ended")
    search_fields = ("=session__id", "=row_id")
    ordering = ("-key",)
    exclude = ("about",)


class PriceForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stub only
    reason = forms.CharField(max_length=2000, widget=forms.Textarea({"rows": 2}))

    class Meta:
        model = PriceOverride
        fields = ("model", "active", *prices.FIELDS)


@admin.register(PriceOverride)
class PriceOverrideAdmin(ReadOnly):
    form = PriceForm
    list_display = ("model", "active", *prices.FIELDS)
    search_fields = ("model",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["model"] if obj is not None else []

    def save_model(self, request: HttpRequest, obj: PriceOverride, form: Any, change: bool) -> None:
        values = {field: form.cleaned_data[field] for field in prices.FIELDS}
        reason = form.cleaned_data["reason"]
        active = form.cleaned_data["active"]
        actor = actor_of(request)
        made = prices.set_price(model=obj.model, prices=values, active=active, actor=actor, reason=reason)
        obj.pk = made.pk
