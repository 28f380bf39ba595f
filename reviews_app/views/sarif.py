"""SARIF logs in and out."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from contextdash.errors import Invalid, Malformed
from contextdash.limits import BODY_BYTES
from contextdash.viewkit import actor_of, changes
from reviews_app.queries.findings import for_export
from reviews_app.sarif.reading import RESULTS
from reviews_app.sarif.writing import write_sarif
from reviews_app.services.sarif import import_sarif
from reviews_app.views.address import read_address
from sessions_app.services.belonging import project_of_slug

SARIF_TYPE = "application/sarif+json"


@require_safe
def download(request: HttpRequest) -> HttpResponse:
    """The findings that the page shows, at most RESULTS of them."""
    reviews, reasons = for_export(read_address(request.GET).filters, limit=RESULTS)
    return HttpResponse(
        write_sarif(reviews, reasons),
        content_type=SARIF_TYPE,
        headers={"Content-Disposition": 'attachment; filename="contextdash.sarif"'},
    )


@changes
def upload(request: HttpRequest) -> HttpResponse:
    file = request.FILES.get("file")
    try:
        if file is None:
            raise Invalid("Choose a SARIF file.", field="file")
        if file.size is None or file.size > BODY_BYTES:
            raise Invalid(f"The file is larger than {BODY_BYTES} bytes (BODY_BYTES).", field="file")
        outcome = import_sarif(
            raw=file.read(),
            actor=actor_of(request),
            project=project_of_slug(request.POST.get("project")),
            diff_hash=request.POST.get("diff_hash", "").strip() or None,
        )
    except (Invalid, Malformed) as error:
        messages.error(request, f"Nothing was imported. {error.detail}")
    else:
        n = len(outcome.added)
        known = f"; {outcome.known} were here already" if outcome.known else ""
        messages.success(request, f"{n} finding{'' if n == 1 else 's'} imported{known}")
    return redirect("reviews" if not request.POST.get("project") else _of_project(request))


def _of_project(request: HttpRequest) -> str:
    return f"{reverse('reviews')}?project={request.POST['project']}"
