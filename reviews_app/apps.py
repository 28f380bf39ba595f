from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews_app"
    verbose_name = "Reviews"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from reviews_app import related, session_page

        session_page.register()
        related.register()
