"""The base of all displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from votron._util.plotting import STYLE, pyplot
from votron._util.types import Axes, Estimator
from votron.errors import VotronError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Display:
    """A picture that is drawn on axes of matplotlib."""

    ax_: Axes
    """The axes of the drawing."""
    figure_: Figure
    """The figure of it."""

    def plot(self, ax: Axes = None) -> Self:
        """Draw on these axes, or on those of a new figure."""
        plt = pyplot(screen=True)
        with plt.rc_context(STYLE):
            if ax is None:
                _, ax = plt.subplots(figsize=self._size(), layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        """Return width and height of a figure for it, in inches."""
        return 7.2, 4.6

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


def check_offers(model: Estimator, method: str, display: type[Display], what: str) -> None:
    """Refuse a model that lacks what a display needs."""
    if not hasattr(model, method):
        name = type(model).__name__
        raise VotronError(f"{display.__name__} is for {what}. Got a {name} without {method!r} instead.")
