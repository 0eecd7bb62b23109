"""The picture of an explanation: a bar for each term, with its image where rows are images, and how vectors voted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from votron._util.frames import dense
from votron._util.plotting import AGAINST, AXIS, FOR, IMAGE_SHAPES, MUTED, STYLE, plain, pyplot, title, write_name
from votron._util.text import counted, shortened
from votron._util.types import Axes, Floats, Index
from votron.errors import VotronError

if TYPE_CHECKING:
    from votron.explanations.explanation import Explanation, History, Term, Terms

_LONGEST = 46
_SPANS = 100
_COLUMNS = 10


def draw(found: Explanation, ax: Axes, image_shape: tuple[int, int] | None) -> Axes:
    plt = pyplot(screen=True)
    shape = _shape(found, image_shape)
    terms = found.main_sum(as_image=found._pixels is not None)
    if terms is None:
        raise VotronError("There is nothing to draw: this score is a sum of no terms.")
    with plt.rc_context(STYLE):
        pixels = shape is not None and terms.kind == "features"
        if ax is None:
            n = 9 if pixels else max(3, min(len(found.columns), _COLUMNS) or len(terms.largest) + 2)
            heights = [n * 0.42, 1.6] if found.history else [n * 0.42]
            _, axes = plt.subplots(
                len(heights), 1, figsize=(8.2, sum(heights) + 1.3), layout="constrained", height_ratios=heights,
                squeeze=False,
            )  # fmt: skip
            ax = axes[0, 0]
            if found.history:
                _draw_history(axes[1, 0], found.history)
        if found.columns:
            note = _draw_columns(ax, found)
        elif pixels:
            assert shape is not None
            note = _draw_pixels(ax, found, terms, shape)
        else:
            note = _draw_bars(ax, found, terms, shape)
        title(ax, f"{found.name}: {found.headline}", note, pad=26)
    return ax


def _shape(found: Explanation, given: tuple[int, int] | None) -> tuple[int, int] | None:
    n = 0 if found._pixels is None else found._pixels.shape[1]
    if not n or given is None:
        return IMAGE_SHAPES.get(n)
    if given[0] * given[1] != n:
        raise VotronError(
            f"The 'image_shape' must have as many pixels as rows have features, {n}. Got {given} instead."
        )
    return given


def _note(terms: Terms) -> str:
    n = terms.n_for + terms.n_against
    words = f"The largest shares of {n:,} {terms.kind}"
    return f"{words} in the score" if terms.exact else f"{words} in the mean of the vectors' scores; below, their votes"


def _draw_columns(ax: Axes, found: Explanation) -> str:
    shown = sorted(found.columns[:_COLUMNS], key=lambda effect: -effect.change)
    _bars(ax, [shortened(effect.name, _LONGEST) for effect in shown], [effect.change for effect in shown])
    ax.set_xlabel(f"for {found.label} to the right", color=MUTED, fontsize=9.5)
    votes = "; below, the votes" if found.history else ""
    return f"What the score would lose with another row's value{votes}"


def _bars(ax: Axes, names: list[str], lengths: list[float]) -> Index:
    """Draw bars from 0 to either side, the first above; return where they are."""
    where = np.arange(len(names))[::-1]
    ax.barh(where, lengths, color=[FOR if length > 0 else AGAINST for length in lengths], height=0.62)
    ax.axvline(0, color=AXIS, linewidth=1)
    ax.set_yticks(where, names)
    ax.xaxis.set_major_formatter("{x:.3g}")
    plain(ax)
    ax.grid(False, axis="y")
    ax.locator_params(axis="x", nbins=7)
    return where


def _draw_bars(ax: Axes, found: Explanation, terms: Terms, shape: tuple[int, int] | None) -> str:
    shown = [*terms.side(True), *terms.side(False)]
    where = _bars(ax, [shortened(str(term), _LONGEST) for term in shown], [term.share for term in shown])
    others = [
        f"{counted(n, 'other')} {side} it {share:+.3g}"
        for side, (n, share) in (("for", terms.others(True)), ("against", terms.others(False)))
        if n
    ]
    rest = f"; {', '.join(others)}" if others else ""
    ax.set_xlabel(f"share, for {found.label} to the right{rest}", color=MUTED, fontsize=9.5)
    if shape is not None and terms.kind == "examples" and found._support.shape[1] == shape[0] * shape[1]:
        _add_images(ax, found, shown, where, shape)
    return _note(terms)


def _add_images(ax: Axes, found: Explanation, shown: list[Term], where: Index, shape: tuple[int, int]) -> None:
    """Put each example's image beside the end of its bar, and the row's own into the corner."""
    for term, y in zip(shown, where, strict=True):
        offset = (16 if term.share > 0 else -16, 0)
        _image(ax, dense(found._support[[term.slot]]).reshape(shape), (term.share, float(y)), offset, 22)
    span = max((abs(term.share) for term in shown), default=1.0)
    ax.set_xlim(-1.45 * span, 1.45 * span)
    corner = (1.0, 0.0), (-30, 34)  # where the bars to the left leave room
    _image(ax, dense(found._pixels).reshape(shape), *corner, 54, coords="axes fraction")


def _image(
    ax: Axes, image: Floats, at: tuple[float, float], offset: tuple[float, float], points: float, coords: str = "data"
) -> None:
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    box = OffsetImage(image, zoom=points / max(image.shape), cmap="gray_r", interpolation="nearest")
    frame = {"pad": 0.08, "bboxprops": {"edgecolor": AXIS, "lw": 0.6}}
    ax.add_artist(AnnotationBbox(box, at, offset, xycoords=coords, boxcoords="offset points", **frame))


def _draw_pixels(ax: Axes, found: Explanation, terms: Terms, shape: tuple[int, int]) -> str:
    from matplotlib.colors import LinearSegmentedColormap

    shares = np.zeros(shape[0] * shape[1])
    for term in terms.largest:
        shares[term.index] = term.share
    largest = max(float(np.abs(shares).max()), 1e-300)
    ax.imshow(dense(found._pixels).reshape(shape), cmap="gray_r", alpha=0.25)
    shown = np.ma.masked_equal(shares.reshape(shape), 0.0)
    colours = LinearSegmentedColormap.from_list("shares", [AGAINST, "#ffffff", FOR])
    drawn = ax.imshow(shown, cmap=colours, vmin=-largest, vmax=largest)
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.8, label=f"share, for {found.label} above 0")
    bar.outline.set_visible(False)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_color(AXIS)
    return _note(terms)


def _draw_history(ax: Axes, history: tuple[History, ...]) -> None:
    for i, (each, colour) in enumerate(zip(history, (FOR, AGAINST), strict=False)):
        spans = each.spans(min(_SPANS, max(1, each.n_steps)))
        edges = [low for low, _, _ in spans] + [spans[-1][1]]
        ax.stairs([mean for _, _, mean in spans], edges, color=colour, linewidth=1.4, baseline=None)
        words, at = f"{each.label}: {each.score:+.2f}", (1.0, 0.75 - 0.5 * i)
        write_name(ax, words, colour, at, (8, 0), ha="left", xycoords="axes fraction", annotation_clip=False)
    ax.axhline(0, color=AXIS, linewidth=1)
    ax.set_xlabel("epochs of training", color=MUTED)
    ax.set_ylabel("mean vote", color=MUTED)
    plain(ax)
    ax.set_xlim(0, history[0].n_steps / history[0].n_examples)
