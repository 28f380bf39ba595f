"""What a model call, a run or a turn cost, in one line."""

from collections.abc import Sequence

from contextdash.rendering.numbers import UNKNOWN, compact, duration, money


def figures(
    *,
    model: str = "",
    given: int | None,
    output: int | None,
    cached: int | None = 0,
    cost_micro: int | None,
    took_us: int | None = 0,
) -> str:
    """Such as ``opus · 11.5k→35 (cached 4.1k) · $0.0070 · 12s``: zero is left out, unknown is a dash.

    ``given`` is all input in tokens, ``cached`` what of it was read from a cache; micro-dollars; µs.
    """
    parts = [model, _tokens(given, output, cached), _cost(cost_micro)]
    if took_us is not None and took_us > 0:
        parts.append(duration(took_us))
    return " · ".join(part for part in parts if part)


def small_money(micro: int | None) -> str:
    """Four digits below a dollar, where a model call is at home."""
    if micro is None or micro >= 1_000_000:
        return money(micro)
    return f"${max(micro, 1 if micro else 0) / 1_000_000:.4f}" if micro >= 50 or not micro else "<$0.0001"


def sum_or_none(values: Sequence[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _tokens(given: int | None, output: int | None, cached: int | None) -> str:
    if given is None and output is None:
        return UNKNOWN
    if not given and not output:
        return ""
    told = f"{compact(given)}→{compact(output)}"
    return f"{told} (cached {compact(cached)})" if cached else told


def _cost(micro: int | None) -> str:
    return "" if micro == 0 else small_money(micro)
