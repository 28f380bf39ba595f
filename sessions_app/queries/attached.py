"""What was attached to the turns and model calls that a transcript shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from contextdash.errors import NotFound
from contextdash.sniffing import IMAGES
from sessions_app.models import Attachment, Session
from sessions_app.vocabulary import Audience

SHOWN = 100
"""The most of one page of a transcript."""


@dataclass(frozen=True, slots=True)
class Attached:
    file: Attachment
    image: bool
    """Whether a page shows it: an image that is not for the model alone."""


def attachments_of(session: Session, *, turns: Sequence[int], iterations: Sequence[int]) -> list[Attached]:
    """Those of these turns' requests and of these model calls' tools, without their bytes."""
    rows = Attachment.objects.filter(session=session).filter(
        Q(turn__in=turns, iteration=None) | Q(iteration__in=iterations)
    )
    found = rows.defer("transcription").order_by("position", "id")[:SHOWN]
    return [Attached(one, one.media_type in IMAGES and one.audience != Audience.MODEL) for one in found]


def attachment_of(session: Session, pk: int) -> Attachment:
    """With its bytes.

    Raises:
        NotFound: this session has none of that number, or its bytes are elsewhere or were erased.
    """
    found = Attachment.objects.filter(session=session, pk=pk).select_related("content").first()
    if found is None:
        raise NotFound("There is no such attachment in this session.")
    if found.content is None:
        raise NotFound("The bytes of this attachment were erased, or are kept elsewhere.")
    return found
