"""What a model call costs at list price: own prices first, then the library's.

The library is loaded with the first price that is asked for: that takes half a second.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from contextdash.clock import from_us
from sessions_app.models import PriceOverride

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

OWN = "own price"
TOLD = "the client"


class Usage(NamedTuple):
    """Tokens of one model call, in classes that do not overlap."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0
    tool: int = 0
    """What the provider's own tools put into the prompt; told apart from it, and priced like it."""
    thinking: int = 0
    """How much of the output was thought, as far as it is told."""


class Price(NamedTuple):
    micro: int | None
    """Micro-dollars; None where nobody knows the price."""
    by: str


UNKNOWN = Price(None, "")


class PriceBook:
    """Prices as they are now. One serves one write or one page; own prices are read once."""

    def __init__(self) -> None:
        rows = PriceOverride.objects.filter(active=True)
        self._own: Mapping[str, PriceOverride] = {row.model: row for row in rows}

    def price(self, usage: Usage | None, *, model: str, provider: str, at_us: int, speed: str = "") -> Price:
        """The price of one call at its time: long-context tiers hold for each call, never for a sum."""
        if usage is None or not model:
            return UNKNOWN
        own = self._own.get(model)
        if own is not None:
            return Price(_own_micro(own, usage), OWN)
        day = at_us - at_us % _DAY_US
        rates = _rates(model=model, provider=provider, at_us=day, speed=speed)
        if rates is None:
            return UNKNOWN
        total = usage.input + usage.tool + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
        if rates.below is None or total < rates.below:
            return Price(_whole_of(sum(map(mul, usage, rates.each))), rates.by)
        found = _library_price(usage, model=model, provider=provider, at_us=at_us, speed=speed)
        return UNKNOWN if found is None else Price(_whole(found.total_price * 1_000_000), rates.by)


def _own_micro(own: PriceOverride, usage: Usage) -> int:
    # Dollars for a million tokens are micro-dollars for one.
    total = (
        (usage.input + usage.tool) * own.input_price
        + usage.output * own.output_price
        + usage.cache_read * own.cache_read_price
        + usage.cache_write_5m * own.cache_write_5m_price
        + usage.cache_write_1h * own.cache_write_1h_price
    )
    return _whole(total)


class _Rates(NamedTuple):
    """What one token of each class costs at one day, for calls below the first long-context tier."""

    each: Usage
    """Not tokens: pico-dollars for one of each class."""
    below: int | None
    """Input tokens (cached ones included) from which the library is asked itself; None for never."""
    by: str


_PROBE = 1000
_TO_PICO = 10**12
_PICO_OF_MICRO = 10**6
_DAY_US = 86_400 * 1_000_000


@lru_cache(maxsize=4096)
def _rates(*, model: str, provider: str, at_us: int, speed: str) -> _Rates | None:
    """The library's prices of a day; None where it has none.

    Asked once for a model and day: it takes 0.1 ms a call, more than all else about a line of a transcript.
    """
    zero = Usage()
    prices: list[int] = []
    for place in range(len(zero)):
        usage = zero._replace(**{zero._fields[place]: _PROBE})
        found = _library_price(usage, model=model, provider=provider, at_us=at_us, speed=speed)
        if found is None:
            return None
        prices.append(int(found.total_price * _TO_PICO / _PROBE))
    import genai_prices

    fields = vars(found.model_price).values() if found is not None else ()
    starts = [tier.start for price in fields for tier in getattr(price, "tiers", ())]
    return _Rates(Usage(*prices), min(starts, default=None), f"genai-prices {genai_prices.__version__}")


def _library_price(
    usage: Usage, *, model: str, provider: str, at_us: int, speed: str
) -> "PriceCalculation | None":
    import genai_prices

    written = usage.cache_write_5m + usage.cache_write_1h
    asked = genai_prices.Usage(
        input_tokens=usage.input + usage.tool + usage.cache_read + written,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=written,
        cache_write_5m_tokens=usage.cache_write_5m,
        cache_write_1h_tokens=usage.cache_write_1h,
        web_searches=usage.web_searches,
    )
    try:
        return genai_prices.calc_price(
            asked,
            model_ref=model.removesuffix("[1m]"),
            provider_id=provider or None,
            genai_request_timestamp=from_us(at_us),
            price_context={"speed": speed} if speed == "fast" else None,
        )
    except (LookupError, ValueError):
        return None


def _whole_of(pico: int) -> int:
    """Micro-dollars, rounded as ``_whole`` rounds, without a decimal: it is done for each call of a model."""
    whole, rest = divmod(pico, _PICO_OF_MICRO)
    return whole + (rest * 2 + (whole & 1) > _PICO_OF_MICRO)


def _whole(micro: Decimal) -> int:
    return int(micro.quantize(Decimal(1), ROUND_HALF_EVEN))
