"""What changed between two versions of a plan, as a text for programs."""

from sessions_app.models import Plan
from sessions_app.queries.text_diff import Gap, Line, compare


def unified(earlier: Plan, later: Plan) -> str:
    """A unified diff; empty where the bodies are equal. What is cut of a very long one says so."""
    found = compare(earlier.body_md, later.body_md)
    if not (found.added or found.removed):
        return ""
    lines = [f"--- version {earlier.number}", f"+++ version {later.number}"]
    at = {"old": 1, "new": 1}
    hunk: list[str] = []

    def close() -> None:
        if hunk:
            olds = sum(not line.startswith("+") for line in hunk)
            news = sum(not line.startswith("-") for line in hunk)
            # By custom a side without lines is named by the line before it.
            old, new = at["old"] - (not olds), at["new"] - (not news)
            lines.append(f"@@ -{old},{olds} +{new},{news} @@")
            lines.extend(hunk)
            at["old"] += olds
            at["new"] += news
            hunk.clear()

    for row in found.inline:
        if isinstance(row, Gap):
            close()
            at["old"] += row.count
            at["new"] += row.count
        else:
            hunk.append(_marked(row))
    close()
    if found.cut:
        lines.append("\\ There is more than is shown here.")
    return "\n".join([*lines, ""])


def _marked(row: Line) -> str:
    match row.kind:
        case "add":
            return f"+{row.new}"
        case "del":
            return f"-{row.old}"
        case _:
            return f" {row.new}"
