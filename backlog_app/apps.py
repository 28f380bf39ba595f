from django.apps import AppConfig


class BacklogConfig(AppConfig):
    name = "backlog_app"
    verbose_name = "Board"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from backlog_app import related, session_page

        session_page.register()
        related.register()
