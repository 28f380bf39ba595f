from reviews_app.models.review import Resolution, Review, Severity

__all__ = ["Resolution", "Review", "Severity"]
