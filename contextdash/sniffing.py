"""What bytes are, by their own signature. What their sender says of them decides nothing.

Only types that are treated in a way of their own, or that people want to read, are told apart. Libraries
for this guess further, from few bytes: every archive is a word processor's document to one, and a text that
begins with BM is a picture.
"""

import re

BYTES = "application/octet-stream"
TEXT = "text/plain"
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every browser draws, and nothing in it runs."""

_SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP8", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftyp", "video/mp4"),
    (8, b"WAVEfmt ", "audio/wav"),
    (8, b"AVI LIST", "video/x-msvideo"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf'\x1c", "application/x-7z-compressed"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\x7fELF", "application/x-elf"),
)
_SVG = re.compile(rb"<svg[\s>]", re.IGNORECASE)
_HTML = re.compile(rb"<(?:!doctype html|html|head|body|script|iframe|p|div|a|img)[\s>/]", re.IGNORECASE)
_TOLD_TEXT = re.compile(r"text/(?!html|xml|javascript|ecmascript)[a-z0-9.+-]{1,60}|application/json")
_HEAD = 4096


def media_type(data: bytes, told: str = "") -> str:
    """The type of the bytes; of a text that is no markup what it was told to be, such as text/csv."""
    for offset, mark, name in _SIGNATURES:
        if data.startswith(mark, offset):
            return name
    if not is_text(data):
        return BYTES
    head = data[:_HEAD]
    if _SVG.search(head):
        return "image/svg+xml"
    if _HTML.search(head):
        return "text/html"
    wanted = told.partition(";")[0].strip().lower()
    return wanted if _TOLD_TEXT.fullmatch(wanted) else TEXT


def is_text(data: bytes) -> bool:
    if not data or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
