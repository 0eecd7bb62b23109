"""Figures of a report: displays as parts of the page."""

from __future__ import annotations

from typing import Any

from votron._util.plotting import STYLE, pyplot, svg_for_page

SIZE = (5.4, 4.1)
"""Inches of a figure: what can be read on a phone, too."""


def drawn(display: Any, name: str, said: str, height: float = SIZE[1]) -> str:
    """Return a display as part of the page; screen readers read ``said``."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(SIZE[0], height), layout="constrained")
        display.plot(ax)
    return svg_for_page(figure, name, said)
