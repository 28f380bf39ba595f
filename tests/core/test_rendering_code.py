"""Highlighted code and diffs."""

import re

from hypothesis import given
from hypothesis import strategies as st

from contextdash.rendering.diff import DIFF_LINES, unified_diff
from contextdash.rendering.highlight import HIGHLIGHT_CHARS, code
from tests.teller import DIFF, HOSTILE

LANGUAGES = st.sampled_from(["python", "json", "html", "src/app.py", "Makefile", "", "no-such", "../x"])


def test_code_is_highlighted_by_language_and_by_path():
    assert '<span class="k">def</span>' in code("def f(): pass", "python")
    assert '<span class="k">def</span>' in code("def f(): pass", "/srv/app/views.py")


def test_html_in_code_is_text():
    for language in ("html", "python", "", "no-such-language"):
        assert "<script" not in code(HOSTILE, language)
        assert "<img" not in code(HOSTILE, language)


def test_huge_code_and_huge_lines_are_shown_without_colours():
    assert code("x = 1\n" * HIGHLIGHT_CHARS, "python") == "x = 1\n" * HIGHLIGHT_CHARS
    line = "x=" + "1" * 6000
    assert code(line, "python") == line


def test_code_keeps_its_first_and_last_blank_lines():
    assert code("\n\nx\n\n", "text") == "\n\nx\n\n"


@given(st.text(), LANGUAGES)
def test_any_code_is_safe(text: str, language: str):
    made = code(text, language)
    assert "<" not in re.sub(r'</?span(?: class="[a-z0-9 -]+")?>', "", made)


def test_a_diff_has_signs_and_the_numbers_of_both_files():
    made = unified_diff(DIFF)
    assert '<caption class="mono" dir="ltr">api/webhooks/views.py</caption>' in made
    assert '<tr class="hunk">' in made
    assert '<tr class="del"><td class="ln">88</td><td class="sg">-</td>' in made
    assert '<tr class="add"><td class="ln">88</td><td class="sg">+</td>' in made
    assert '<tr><td class="ln">89</td><td class="sg"></td><td>        return accept(body)</td></tr>' in made


def test_a_removed_line_that_looks_like_a_header_stays_a_line():
    made = unified_diff("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- old comment\n keep\n")
    assert '<td class="sg">-</td><td>-- old comment</td>' in made


def test_lines_without_a_hunk_are_still_drawn():
    made = unified_diff("+added\n-removed\nplain")
    assert '<tr class="add"><td class="ln"></td>' in made
    assert "plain" in made


def test_every_file_has_its_own_table():
    assert unified_diff(DIFF + DIFF.replace("views", "urls")).count("<table") == 2


def test_a_long_diff_tells_how_much_is_not_shown():
    made = unified_diff("@@ -0,0 +1,6000 @@\n" + "+x\n" * 6000)
    assert made.count("<tr") == DIFF_LINES
    assert "1,001 more lines are not shown." in made


@given(st.text(alphabet=st.sampled_from("+-@ \\<>&\"'\n\r\x1b[0,1 diff")) | st.text())
def test_any_diff_is_safe(text: str):
    made = unified_diff(text)
    tag = r'</?(?:table|caption|tbody|tr|td|p)(?: (?:class|dir)="[a-z ]+"){0,2}>'
    assert "<" not in re.sub(tag, "", made)
    assert made.count("<table") == made.count("</table>")
