from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from sessions_app import (
            housekeeping,
            ledger_guard,
            panels,
            panels_attachments,
            panels_claims,
            panels_memory,
        )

        panels.register()
        panels_memory.register()
        panels_attachments.register()
        panels_claims.register()
        housekeeping.register_tasks()
        post_migrate.connect(ledger_guard.install, sender=self, dispatch_uid="sessions_app.ledger_guard")
        checks.register(ledger_guard.check_installed, checks.Tags.database)
