"""Untrusted Markdown (bug case: text from a transcript runs as script)."""

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextdash.rendering.markdown import RENDER_BYTES, markdown

HOSTILE = """<b>bold</b><img src="x" onerror="alert('testing')"><script>alert(1)</script>"""
TAG = re.compile(r"</?([a-z0-9]+)((?:\s[^<>]*)?)>")
ALLOWED = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "a", "span", "div", "input"),
    *("h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}
MARKDOWN_TEXT = st.text(alphabet=st.sampled_from("ab <>&\"'()[]!*_`#-|:\n\t0.jx/\\~=\u202e")) | st.text()


def assert_safe(html: str) -> None:
    rest = TAG.sub("", html)
    assert "<" not in rest
    for name, attributes in TAG.findall(html):
        assert name in ALLOWED
        assert not re.search(r"\son\w+=|style=|srcset=", re.sub(r'"[^"]*"', '""', attributes))
    for address in re.findall(r'href="([^"]*)"', html):
        assert address.startswith(("http://", "https://", "mailto:"))


def test_raw_html_is_shown_as_text():
    made = markdown(HOSTILE)
    assert_safe(made)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made
    assert "<img" not in made


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>1</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "&#106;avascript:alert(1)",
        "java\tscript:alert(1)",
        "//evil.example",
    ],
)
def test_only_web_addresses_are_links(address: str):
    made = markdown(f"[x]({address})")
    assert "<a" not in made
    assert_safe(made)


def test_a_path_is_written_out_instead_of_linked():
    assert markdown("[the view](src/app.py)") == "<p>the view (src/app.py)</p>\n"


def test_links_are_marked_and_carry_no_weight():
    made = markdown("[x](https://example.org)")
    assert made == (
        '<p><a href="https://example.org" class="external" rel="nofollow noopener noreferrer">x</a></p>\n'
    )


def test_images_are_not_loaded():
    made = markdown("![pixel](https://evil.example/p.png)")
    assert "<img" not in made
    assert ">image: pixel</a>" in made


def test_an_image_inside_a_link_is_text():
    made = markdown("[![build](https://a.example/b.svg)](https://a.example)")
    assert made.count("<a") == 1
    assert "image: build" in made


def test_headings_begin_below_the_pages_own():
    assert markdown("# One\n\n###### Six") == "<h3>One</h3>\n<h6>Six</h6>\n"


def test_task_lists_have_checkboxes_that_cannot_be_ticked():
    made = markdown("- [x] done\n- [ ] open\n- plain")
    assert made.count("<input") == 2
    assert made.count("disabled") == 2
    assert made.count("checked") == 1
    assert 'type="checkbox"' in made


def test_tables_are_drawn_and_figures_stand_at_the_end():
    made = markdown("| a | n |\n|---|---:|\n| x | 1 |")
    assert '<td class="num">1</td>' in made
    assert "style" not in made


def test_code_is_highlighted():
    made = markdown("```python\ndef f(): pass\n```")
    assert '<span class="k">def</span>' in made


def test_a_long_text_says_that_it_is_cut():
    made = markdown("word " * RENDER_BYTES)
    assert "The first 200 KB of 1,000 KB are shown." in made


def test_characters_that_reorder_text_are_written_out():
    assert "[U+202E]" in markdown("a\u202eb")


@given(MARKDOWN_TEXT)
def test_any_text_gives_safe_html(text: str):
    assert_safe(markdown(text))


@pytest.mark.parametrize(
    "piece", ["[", "![", "*a ", "`", "> ", "- ", "<", "[a](", "|a|\n|-|\n", "_*", "&#", "\\", "~~", "[x]("]
)
def test_hostile_texts_are_drawn_in_seconds(piece: str):
    started = perf_counter()
    markdown(piece * (RENDER_BYTES // len(piece)))
    assert perf_counter() - started < 20
