"""Self-contained HTML pages, from templates that escape whatever comes from data."""

from __future__ import annotations

import base64
import functools
import io
import re
from typing import TYPE_CHECKING

import numpy as np

from votron._util.text import counted, on_one_line, percent, plain_number, shortened
from votron._util.types import Array, Params
from votron.errors import MissingPackageError

if TYPE_CHECKING:
    from jinja2 import Environment

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Characters that a page must not contain: control characters, surrogates, changes of direction."""


@functools.cache
def _environment() -> Environment:
    """Return the environment of all templates, which are named by their path in the package."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackageError('Reports need jinja2: pip install "votron[cli]".') from error
    loader = jinja2.PackageLoader("votron", "")
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"percent": percent, "counted": counted, "name": name_of, "number": plain_number}
    return made


def render(template: str, **context: object) -> str:
    """Return a page, its percentages unbroken at the end of a line."""
    text = _environment().get_template(template).render(**context)
    return re.sub(r"(?<=\d) %", "\u00a0%", _NOT_TEXT.sub("\ufffd", text))


def name_of(label: object, longest: int = 32) -> str:
    return shortened(on_one_line(str(label)), longest)


def picture(pixels: Array, alt: str) -> Params:
    """Return an image as a part of a page: grey values from white (zero) to black, or colours as they are.

    Grey ones are drawn in ink, light on black in dark mode.
    """
    from PIL import Image  # with matplotlib, and with the readers of images

    grey = pixels.ndim == 2
    strength = np.round(255.0 * pixels / max(float(pixels.max()), 1.0)).clip(0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(255 - strength if grey else strength).save(out, "PNG", optimize=True)
    data = base64.b64encode(out.getvalue()).decode()
    return {"data": data, "alt": alt, "width": pixels.shape[1], "height": pixels.shape[0], "ink": grey}
