"""The template language of the pages; a builtin, so no template loads it."""

from functools import lru_cache
from typing import Any

from django import template
from django.forms import BoundField, CheckboxInput, RadioSelect
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contextdash.cleaning import one_line
from contextdash.rendering import ansi as terminal
from contextdash.rendering import diff, highlight, numbers, remembered, states, times
from contextdash.rendering import markdown as md

register = template.Library()

WORD_CHARS = 40
KEPT_TAGS = 1000
"""Icons, badges and agents are drawn some hundred times a page, and are the same each time."""

_FLOWING = {"prev", "next", "right"}


@register.simple_tag
@lru_cache(maxsize=KEPT_TAGS)
def icon(name: str) -> SafeString:
    """A line icon of icons.svg; arrows that follow the direction of reading turn with it."""
    css = "i i--flow" if name in _FLOWING else "i"
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}#i-{}"/></svg>', css, _sprite(), name)


@register.simple_tag
@lru_cache(maxsize=KEPT_TAGS)
def shape(name: str) -> SafeString:
    """A state shape of icons.svg, such as ``s-working``; never without its word."""
    return format_html('<svg class="s" aria-hidden="true"><use href="{}#{}"/></svg>', _sprite(), name)


@register.simple_tag
@lru_cache(maxsize=KEPT_TAGS)
def badge(value: object, word: str = "") -> SafeString:
    """Shape and word of a state; ``word`` says it in another way."""
    state = states.state_of(str(value))
    css = f"badge {state.css}".rstrip()
    return format_html('<span class="{}">{}{}</span>', css, shape(state.shape), _as_sent(word or state.word))


@register.simple_tag
@lru_cache(maxsize=KEPT_TAGS)
def severity(value: object) -> SafeString:
    name = str(value).strip().lower()
    if name in states.SEVERITIES:
        return format_html(
            '<span class="sev sev--{}">{}{}</span>', name, shape(f"v-{name}"), name.capitalize()
        )
    return format_html('<span class="sev sev--info">{}{}</span>', shape("s-idle"), _as_sent(str(value)))


def _as_sent(word: str) -> str:
    """A word that may be anybody's, as far as a line has room for it."""
    return one_line(terminal.plain(word), WORD_CHARS)


@register.simple_tag
@lru_cache(maxsize=KEPT_TAGS)
def agent(name: object, slot: int | None = None) -> SafeString:
    """An agent's two letters in its colour, and its name."""
    shown = terminal.plain(str(name or "")).strip() or "nobody"
    return format_html(
        '<span class="agent a{}" title="{}"><span class="mono2" aria-hidden="true">{}</span>'
        '<span dir="auto">{}</span></span>',
        states.agent_slot(shown) if slot is None else slot,
        shown,
        states.monogram(shown),
        shown,
    )


@register.simple_tag(name="drawn")
def remembered_part(template_name: str, **values: Any) -> SafeString:
    """A part of a list that shows nothing but these values, drawn once for the same ones."""
    return remembered.drawn(template_name, values)


@register.simple_tag
def when(moment: times.Moment) -> SafeString | str:
    return times.when(moment)


@register.simple_tag
def clock(moment: times.Moment) -> SafeString | str:
    return times.clock_time(moment)


@register.simple_tag
def since(moment: times.Moment) -> SafeString | str:
    return times.since(moment)


@register.simple_tag
def ago(moment: times.Moment) -> SafeString | str:
    return times.since(moment, ago=True)


@register.simple_tag
def control(field: BoundField) -> SafeString:
    """A form field's control with the class of its kind; ``partials/_field.html`` draws the rest."""
    plain = isinstance(field.field.widget, CheckboxInput | RadioSelect)
    return field.as_widget(attrs=None if plain else {"class": "input"})


@register.filter
def duration(us: int | None) -> str:
    return numbers.duration(us)


@register.filter
def number(value: float | None) -> str:
    return numbers.number(value)


@register.filter
def compact(value: int | None) -> str:
    return numbers.compact(value)


@register.filter
def money(micro: int | None) -> str:
    return numbers.money(micro)


@register.filter
def size(value: int | None) -> str:
    return numbers.size(value)


@register.filter
def markdown(text: object) -> SafeString:
    return md.markdown(terminal.plain(_text(text)))


@register.filter
def ansi(text: object) -> SafeString:
    return terminal.ansi(_text(text))


@register.filter
def plain(text: object) -> str:
    return terminal.plain(_text(text))


@register.filter
def code(text: object, language: object = "") -> SafeString:
    return highlight.code(_text(text), _text(language))


@register.filter
def unified_diff(text: object) -> SafeString:
    return diff.unified_diff(_text(text))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _sprite() -> str:
    return static("icons.svg")
