from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.core import checks
from django.db.backends.signals import connection_created


class ContextdashConfig(AppConfig):
    name = "contextdash"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from contextdash import db, housekeeping

        connection_created.connect(db.prepare_connection, dispatch_uid="contextdash.db")
        checks.register(db.check_database, checks.Tags.database)
        housekeeping.register_tasks()


class OwnersAdminConfig(AdminConfig):
    default_site = "contextdash.adminkit.Site"

    def ready(self) -> None:
        super().ready()
        from django.contrib import admin
        from django.contrib.auth.models import Group

        admin.site.unregister(Group)  # roles say what people may do
