"""Text from outside made storable: what no database, JSON answer or page can carry is replaced."""

import hashlib

REPLACEMENT = "\ufffd"


def clean(text: str) -> str:
    """The text without NUL and lone surrogates (each becomes U+FFFD); everything else stays."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cut_bytes(text: str, limit: int) -> str:
    """The text's first ``limit`` UTF-8 bytes, ended at a character border."""
    if len(text) <= limit // 4:
        return text
    raw = text.encode("utf-8")
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")


def cut_and_tell(text: str, limit: int) -> str:
    """The text, or its beginning with a line that says what was cut: full size in bytes and SHA-256."""
    raw = text.encode("utf-8")
    if len(raw) <= limit:
        return text
    mark = f"\n… cut here: {len(raw)} bytes in all, SHA-256 {hashlib.sha256(raw).hexdigest()}"
    return raw[:limit].decode("utf-8", "ignore") + mark


def shorten(text: str, chars: int) -> str:
    """At most ``chars`` characters, ended with an ellipsis where something is left out."""
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"


def one_line(text: str, chars: int) -> str:
    """The text on one line, white space folded, at most ``chars`` characters."""
    if not text:
        return ""
    # Ten times the length is enough to fill the line and keeps a 1 MiB text from being split whole.
    return shorten(" ".join(text[: chars * 10].split()), chars)
