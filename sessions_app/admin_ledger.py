"""The ledger's tool operations in the admin pages: looked at, never changed."""

from django.contrib import admin

from contextdash.adminkit import ReadOnly, moment, words
from sessions_app import vocabulary
from sessions_app.models import LedgerCall, ToolJournalEntry, ToolOperation


@admin.register(LedgerCall)
class LedgerCallAdmin(ReadOnly):
    list_display = ("key", "run_id", "provider_call_id", "name", "operation_id", "provider_executed")
    search_fields = ("=provider_call_id", "=operation_id", "=run__invocation_id")
    ordering = ("-key",)


@admin.register(ToolOperation)
class ToolOperationAdmin(ReadOnly):
    list_display = ("operation_id", "run_id", "state", "version", "recovery_mode", "args_hash_ok")
    list_filter = (
        words("state", vocabulary.OperationState),
        words("recovery_mode", vocabulary.RecoveryMode),
        "args_hash_ok",
    )
    search_fields = ("=operation_id", "=call__call_id", "=run__invocation_id")
    ordering = ("-key",)


@admin.register(ToolJournalEntry)
class ToolJournalEntryAdmin(ReadOnly):
    list_display = ("key", "operation_id", "version", "state", "event", moment("committed_us"))
    search_fields = ("=operation__operation_id", "=event")
    ordering = ("-key",)
