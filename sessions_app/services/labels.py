"""Labels of sessions: the list is checked as a whole and takes the place of the one before."""

import json
import unicodedata
from collections.abc import Sequence

from contextdash.errors import Invalid
from contextdash.fields import word
from contextdash.limits import LABEL_BYTES, LABELS
from contextdash.rendering.ansi import plain
from sessions_app.models import Session, SessionLabel


def checked_labels(given: object) -> list[str]:
    """The labels as they are stored: each on one line, composed (NFC), without what moves a terminal or
    reorders text, since a form gives them back as they are; the order stays, and of equal ones the first.

    Raises:
        Invalid: it is no list of texts, one is empty or above LABEL_BYTES, or more than LABELS are left.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise Invalid("labels must be a list of texts.", field="labels")
    made = list(dict.fromkeys(_checked(label) for label in given))
    if len(made) > LABELS:
        raise Invalid(f"A session has at most {LABELS} labels (LABELS).", field="labels")
    return made


def labels_of(session: Session) -> list[str]:
    rows = SessionLabel.objects.filter(session=session).order_by("place")
    return list(rows.values_list("label", flat=True))


def as_text(labels: Sequence[str]) -> str:
    """As the history writes them."""
    return json.dumps(list(labels), ensure_ascii=False)


def replace_labels(session: Session, labels: Sequence[str]) -> None:
    """Store checked labels instead of those before. Call it inside the write that moved the version."""
    SessionLabel.objects.filter(session=session).delete()
    SessionLabel.objects.bulk_create(
        SessionLabel(session=session, place=place, label=label) for place, label in enumerate(labels)
    )


def _checked(label: object) -> str:
    if not isinstance(label, str):
        raise Invalid("labels must be a list of texts.", field="labels")
    made = unicodedata.normalize("NFC", " ".join(word(plain(label), "labels").split()))
    if len(made.encode()) > LABEL_BYTES:
        raise Invalid(f"A label is longer than {LABEL_BYTES} bytes (LABEL_BYTES).", field="labels")
    return made
