import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.queries.text_diff import Gap, Line, compare

lines = st.lists(st.sampled_from(["a", "b", "c", "", "  x"]), max_size=25)


def test_a_changed_line_stands_beside_what_it_was():
    diff = compare("a\nb\nc", "a\nB\nc")
    assert diff.rows[1] == Line("change", 2, "b", 2, "B")
    assert (diff.added, diff.removed) == (1, 1)


def test_what_is_far_from_a_change_is_left_out_and_counted():
    common = "\n".join(str(number) for number in range(50))
    diff = compare(f"{common}\nold", f"{common}\nnew")
    assert diff.rows[0] == Gap(47)
    assert [row.kind for row in diff.rows] == ["gap", "same", "same", "same", "change"]


def test_inline_shows_what_is_removed_before_what_is_added():
    diff = compare("a\nb", "c\nd\ne")
    assert [(row.kind, row.old or row.new) for row in diff.inline] == [
        ("del", "a"),
        ("del", "b"),
        ("add", "c"),
        ("add", "d"),
        ("add", "e"),
    ]


@given(lines, lines)
def test_both_texts_can_be_read_back_from_the_rows(old, new):
    diff = compare("\n".join(old), "\n".join(new))
    rows = [row for row in diff.rows if isinstance(row, Line)]
    before, after = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    assert all(before[row.old_number - 1] == row.old for row in rows if row.old_number)
    assert all(after[row.new_number - 1] == row.new for row in rows if row.new_number)
    hidden = sum(row.count for row in diff.rows if isinstance(row, Gap))
    assert sum(row.old_number is not None for row in rows) + hidden == len(before)
    assert sum(row.new_number is not None for row in rows) + hidden == len(after)


@pytest.mark.parametrize("text", ["", "same\ntext"])
def test_equal_texts_have_no_changes(text):
    diff = compare(text, text)
    assert (diff.added, diff.removed) == (0, 0)
