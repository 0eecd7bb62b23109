"""Self-contained HTML pages, from templates that escape whatever comes from data."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from votron._util.text import counted, on_one_line, percent, shortened
from votron.errors import MissingPackageError

if TYPE_CHECKING:
    from jinja2 import Environment

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Characters that a page must not contain: control characters, surrogates, changes of direction."""


@functools.cache
def environment() -> Environment:
    """Return the environment of all templates, which are named by their path in the package."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackageError('Reports need jinja2: pip install "votron[cli]".') from error
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("votron", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "counted": counted, "name": name_of}
    return made


def render(template: str, **context: object) -> str:
    """Return a page, its percentages unbroken at the end of a line."""
    text = environment().get_template(template).render(**context)
    return re.sub(r"(?<=\d) %", "\u00a0%", _NOT_TEXT.sub("\ufffd", text))


def name_of(label: object, longest: int = 32) -> str:
    """Return a label as a page shows it."""
    return shortened(on_one_line(str(label)), longest)


def markup(html: str) -> str:
    """Return HTML as templates show it, unescaped."""
    from markupsafe import Markup  # with jinja2

    return Markup(html)


@dataclass(frozen=True)
class Picture:
    """A PNG file as part of a page."""

    data: str
    alt: str
    width: int
    height: int
    ink: bool
    """Whether it is drawn in ink on white, and light on black in dark mode."""
