"""Whether deliveries would be taken: asked once, with a person waiting for the answer."""

import urllib.error
import urllib.request
from http import HTTPStatus

SECONDS = 3


def trouble(*, url: str, token: str, client: str) -> str:
    """What keeps a delivery from being taken and what to do about it; empty where nothing does."""
    if not token:
        return (
            "No token is known. Make one on the page Connect (or: contextdash token create --name hooks "
            "--scope write) and give it with --token."
        )
    request = urllib.request.Request(  # noqa: S310 - the address is the user's own
        f"{url}/api/v1/hooks/{client}", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):  # noqa: S310
            return ""
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.UNAUTHORIZED:
            return f"The server at {url} does not know this token. Make a new one and give it with --token."
        if error.code == HTTPStatus.FORBIDDEN:
            return f"The server at {url} does not let this token deliver; it needs the scope ingest or write."
        return f"The server at {url} answered {error.code}; contextdash doctor there tells more."
    except (OSError, ValueError):
        return f"No server answers at {url}. Until one does, what is captured waits in the spool."
