from django.urls import URLPattern, path

from reviews_app.views import changing, findings, links, logging, sarif, trends

urlpatterns: list[URLPattern] = [
    path("reviews/", findings.index, name="reviews"),
    path("reviews/bulk/", changing.set_state_of_many, name="reviews_bulk"),
    path("reviews/new/", logging.new, name="review_new"),
    path("reviews/log/", logging.log, name="review_log"),
    path("reviews/gate/", changing.ask, name="reviews_gate"),
    path("reviews/link/", links.link, name="finding_link"),
    path("reviews/unlink/", links.unlink, name="finding_unlink"),
    path("reviews/sarif/", sarif.download, name="reviews_sarif"),
    path("reviews/sarif/import/", sarif.upload, name="reviews_sarif_import"),
    path("reviews/trends/", trends.trends, name="reviews_trends"),
    path("reviews/<int:review_id>/", findings.one, name="review"),
    path("reviews/<int:review_id>/state/", changing.set_state, name="review_state"),
]
