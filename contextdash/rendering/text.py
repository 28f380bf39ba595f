"""What is done to every untrusted text before it is drawn."""

from contextdash.cleaning import clean

# Characters that reorder what follows them: a reader must see that they are there.
_BIDI = {
    code: f"[U+{code:04X}]"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def visible(text: str) -> str:
    """The text with every character that could reorder it written out, such as ``[U+202E]``."""
    if text.isascii() and "\0" not in text:
        return text
    return clean(text).translate(_BIDI)
