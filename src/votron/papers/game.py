"""The perceptron game in two dimensions, drawn as one would on a whiteboard, beside the proof of its mistake bound.

``python -m votron.papers.game`` plays it, prints the mistakes as a table, and draws it to an SVG and a PNG file.
Needs matplotlib: ``pip install matplotlib``.

The game is that of Cohen, "Linear Classifiers and the Perceptron", sections 3.2-3.4. Player A has examples in a disk of
radius R = 1, further than γ from the line that the target u, of length 1, is perpendicular to. Player B is
`votron.OnlinePerceptron`. A wants mistakes: in each round it gives, of the examples that B would get wrong, the one
whose mistake leaves B's guess at the widest angle to u. The game is over when there is none. ``--order random`` gives
the examples as they were drawn instead, over and over until a pass makes no mistake.

==========  ==============================================================
v           B's guess after k mistakes
lemma 1     kγ ≤ v·u
in between  v·u ≤ ‖v‖, as u has length 1
lemma 2     ‖v‖ ≤ √k R
theorem     hence kγ ≤ √k R, which is false for all k above R²/γ²
==========  ==============================================================
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.plotting import AXIS, GRID, INK, MUTED, STYLE, plain, pyplot, save, title
from votron._util.text_tables import as_text
from votron.online import OnlinePerceptron, Round
from votron.papers._command_line import add_out, at_least_one, ended, seed_number
from votron.papers.plane_game import PlaneRules

__all__ = ["draw", "main"]

Floats = NDArray[np.float64]

TARGET = (3, 4)
"""The direction of u."""
U: Floats = np.array(TARGET) / 5
ACROSS: Floats = np.array([-U[1], U[0]])
RADIUS = 1.0
NARROWEST, WIDEST = 0.01, 0.9
"""Margins: below the first the bound dwarfs the game, above the second the disk has next to no room for examples."""

POSITIVE, NEGATIVE = "#009e73", "#b5588a"
ALONG, LENGTH = "#0072b2", "#c8500a"
"""Colours that are told apart without red and green too (after Okabe & Ito); signs and dashes tell the same."""

AT_MOST_ARROWS, AT_MOST_ROWS = 10, 25


@dataclass(frozen=True)
class Game:
    """A game that was played: its examples, its rounds, and whether B would get any example wrong at its end."""

    margin: float
    X: Floats
    y: NDArray[np.int64]
    rounds: tuple[Round, ...]
    over: bool

    @property
    def mistakes(self) -> tuple[Round, ...]:
        """The rounds with a mistake."""
        return tuple(r for r in self.rounds if r.mistake)

    @property
    def bound(self) -> float:
        """The theorem's bound on their number."""
        return rules(self.margin).bound


def rules(margin: float) -> PlaneRules:
    """Return what A keeps to."""
    return PlaneRules((float(U[0]), float(U[1])), margin, RADIUS)


def sample(n_examples: int, margin: float, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return examples, uniform in the disk without the band of the margin, and their labels.

    Examples
    --------
    >>> X, y = sample(100, margin=0.2, seed=0)
    >>> bool((y * (X @ U) > 0.2).all()), bool((np.linalg.norm(X, axis=1) <= RADIUS).all())
    (True, True)
    """
    rng = np.random.default_rng(seed)
    kept = np.empty((0, 2))
    while len(kept) < n_examples:
        X = rng.uniform(-RADIUS, RADIUS, (1024, 2))
        kept = np.concatenate([kept, X[rules(margin).allowed(X)]])
    kept = kept[:n_examples]
    return kept, np.where(kept @ U > 0, 1, -1)


def play(n_examples: int, margin: float, *, seed: int = 0, order: str = "worst", n_rounds: int = 10_000) -> Game:
    """Play to the end, or for so many rounds.

    Examples
    --------
    >>> game = play(300, margin=0.2, seed=0)
    >>> game.over, len(game.mistakes) <= game.bound
    (True, True)
    """
    X, y = sample(n_examples, margin, seed)
    learner = OnlinePerceptron(target=TARGET, keep_history=True)
    gives = _worst(learner, X, y) if order == "worst" else _in_turn(learner, X)
    for i in itertools.islice(gives, n_rounds):
        learner.update(X[i], y[i])
    return Game(margin, X, y, tuple(learner.history), over=bool((y * (X @ learner.v) > 0).all()))


def _worst(learner: OnlinePerceptron, X: Floats, y: NDArray[np.int64]) -> Iterator[int]:
    """Give, of what B would get wrong, the example that leaves the guess at the widest angle to u."""
    signed = y[:, None] * X
    while True:
        wrong = np.flatnonzero(signed @ learner.v <= 0)
        if len(wrong) == 0:
            return
        after = learner.v + signed[wrong]
        yield int(wrong[np.argmin((after @ U) / np.linalg.norm(after, axis=1))])


def _in_turn(learner: OnlinePerceptron, X: Floats) -> Iterator[int]:
    """Give all examples in turn, until a pass makes no mistake."""
    before = -1
    while learner.k > before:
        before = learner.k
        yield from range(len(X))


def some(n: int, at_most: int) -> list[int]:
    """Return numbers from 1 to n, both included, spread evenly where not all may be had.

    Examples
    --------
    >>> some(4, at_most=10), some(100, at_most=4)
    ([1, 2, 3, 4], [1, 34, 67, 100])
    """
    return sorted({round(float(k)) for k in np.linspace(1, n, min(n, at_most))})


def table(game: Game) -> str:
    """Return the mistakes as a table: kγ ≤ v·u ≤ ‖v‖ ≤ √k R, from left to right."""
    rows, mistakes = [["k", "round", "kγ", "v·u", "‖v‖", "√k R"]], game.mistakes
    for k in some(len(mistakes), AT_MOST_ROWS):
        r = mistakes[k - 1]
        numbers = (k * game.margin, _along(r), r.norm2**0.5, k**0.5 * RADIUS)
        rows.append([str(k), str(r.t), *(f"{number:.3f}" for number in numbers)])
    return as_text(rows)


def summary(game: Game) -> str:
    """Return in a sentence how the game went."""
    k, n = len(game.mistakes), len(game.rounds)
    text = f"{_count(k, 'mistake')} in {_count(n, 'round')}"
    end = "B gets every example right" if game.over else "stopped, and B would still get examples wrong"
    return f"{text}, at most {game.bound:,.4g} by the theorem; {end}."


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' if n > 1 else ''}"


def _along(r: Round) -> float:
    assert r.v_dot_u is not None  # the learner has a target
    return r.v_dot_u


# -- the figure -------------------------------------------------------------------------------------------------------


def draw(game: Game) -> Any:
    """Return a figure of a game: the plane, and the proof."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(10.4, 5.0), layout="constrained", gridspec_kw={"width_ratios": [1, 1.15]}
        )
        _plane(left, game)
        _proof(right, game)
    return figure


def _plane(axes: Any, game: Game) -> None:
    """Draw the left panel."""
    for sign, colour, marker in ((1, POSITIVE, "+"), (-1, NEGATIVE, "_")):
        X = game.X[game.y == sign]
        axes.scatter(X[:, 0], X[:, 1], s=26, c=colour, marker=marker, linewidths=1.1, alpha=0.75, zorder=2)
    _rules(axes, game)
    _guesses(axes, game)
    axes.set_aspect("equal")
    axes.axis("off")
    k = len(game.mistakes)
    which = f"some of the {k:,} guesses v" if k > AT_MOST_ARROWS else "the guess v after each mistake"
    title(axes, "The guess turns towards the target", f"{_count(len(game.X), 'example')} + and −, target u, {which}")


def _rules(axes: Any, game: Game) -> None:
    """Draw what A must keep to: the line and the band of the margin, and the radius."""
    from matplotlib.patches import Circle, Polygon

    reach = 1.3 * RADIUS * ACROSS
    band = [s * game.margin * U + t * reach for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    axes.add_patch(Polygon(band, facecolor=GRID, edgecolor="none", zorder=0))
    axes.add_patch(Circle((0, 0), RADIUS, facecolor="none", edgecolor=AXIS, linewidth=1.1, zorder=1))
    axes.plot(*np.array([-reach, reach]).T, color=AXIS, linewidth=1.1, zorder=1)
    measure = {"arrowstyle": "<->", "color": MUTED, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    foot, rim = -1.13 * RADIUS * ACROSS, RADIUS * np.array([-0.28, -0.96])
    for start, end in ((foot, foot + game.margin * U), (np.zeros(2), rim)):
        axes.annotate("", end, start, arrowprops=measure, zorder=3)
    _write(axes, "γ", foot + 0.5 * game.margin * U, (14, -10), MUTED)
    _write(axes, "R", 0.62 * rim, (9, 0), MUTED)


def _guesses(axes: Any, game: Game) -> None:
    """Draw the target, and the trace of the guesses with arrows to some of them, the later the darker."""
    from matplotlib import colormaps

    v = np.array([[0.0, 0.0], *(r.v for r in game.mistakes)])
    n, reach = len(v) - 1, max(1.3 * RADIUS, 1.1 * float((v @ U).max()))
    axes.plot(*np.array([[0, 0], reach * U]).T, color=INK, linewidth=1.2, linestyle=(0, (5, 4)), zorder=3)
    axes.plot(v[1:, 0], v[1:, 1], color=AXIS, linewidth=0.8, zorder=3)
    for k in some(n, AT_MOST_ARROWS):
        colour = colormaps["Blues"](0.5 + 0.4 * k / n)
        _arrow(axes, v[k], colour)
        _write(axes, f"$v_{{{k}}}$", v[k], (9 if v[k] @ ACROSS < 0 else -9, 5), colour)
    _arrow(axes, U, INK, width=2.6)
    _write(axes, "u", U, (-10, 3), INK)


def _arrow(axes: Any, to: Floats, colour: Any, width: float = 1.7) -> None:
    arrow = {"arrowstyle": "-|>,head_length=0.45,head_width=0.2", "color": colour, "linewidth": width, "shrinkA": 0}
    axes.annotate("", to, (0, 0), arrowprops={**arrow, "shrinkB": 0}, zorder=4)


def _proof(axes: Any, game: Game) -> None:
    """Draw the right panel: the four curves, and where the outer two cross."""
    from matplotlib.ticker import MaxNLocator

    n, bound, top = len(game.mistakes), game.bound, game.margin * game.bound
    along, length = [0.0, *map(_along, game.mistakes)], [0.0, *(r.norm2**0.5 for r in game.mistakes)]
    beyond = np.linspace(0, 1.12 * bound, 400)
    axes.plot(beyond, RADIUS * beyond**0.5, "--", color=LENGTH, linewidth=1.6)
    axes.plot(beyond, game.margin * beyond, "--", color=ALONG, linewidth=1.6)
    marks = {"markersize": 4.5, "markevery": max(1, n // 20)}
    axes.plot(range(n + 1), length, "s-", color=LENGTH, linewidth=2.0, **marks)
    axes.plot(range(n + 1), along, "o-", color=ALONG, linewidth=2.0, **marks)
    axes.plot([bound] * 2, [0, top], ":", color=INK, linewidth=1.4)
    axes.plot([bound], [top], "o", color=INK, markersize=7)
    plain(axes)
    axes.set_xlim(0, beyond[-1])
    axes.set_ylim(0, 1.1 * top)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel("mistakes k")
    _write(axes, "√k R, by lemma 2", (0.5 * bound, RADIUS * (0.5 * bound) ** 0.5), (-6, 12), LENGTH, ha="right")
    _write(axes, "kγ, by lemma 1", (0.66 * bound, 0.66 * top), (10, -9), ALONG, ha="left")
    _write(axes, "‖v‖", (n, length[-1]), (-2, 12), LENGTH)
    _write(axes, "v·u", (n, along[-1]), (9, -3), ALONG, ha="left")
    _write(axes, f"k ≤ R²/γ² = {bound:,.4g}", (bound, 0.1 * top), (-8, 0), INK, ha="right")
    title(axes, "Why it makes few mistakes", "kγ ≤ v·u ≤ ‖v‖ ≤ √k R, and the outer two cross")


def _write(axes: Any, text: str, at: Any, offset: tuple[float, float], colour: Any, ha: str = "center") -> None:
    """Write on a white rim, so that what is beneath does not disturb."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=3, foreground="white")]
    how = {"color": colour, "ha": ha, "va": "center", "fontweight": "bold", "path_effects": rim, "zorder": 6}
    axes.annotate(text, at, offset, textcoords="offset points", **how)


# -- the command ------------------------------------------------------------------------------------------------------


def _margin(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not NARROWEST <= value <= WIDEST:
        raise argparse.ArgumentTypeError(
            f"must be a number in the range [{NARROWEST}, {WIDEST}], as R is 1. Got {text!r} instead."
        )
    return value


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m votron.papers.game",
        description="Play the perceptron game in two dimensions, and draw it beside the proof of its mistake bound.",
        allow_abbrev=False,
    )
    add, default = made.add_argument, " (default: %(default)s)"
    add("--examples", type=at_least_one, default=300, metavar="M", help="examples that A has" + default)
    add("--margin", type=_margin, default=0.2, metavar="G", help="distance from the line, of R = 1" + default)
    orders = "what A gives: the worst for B, or all in turn" + default
    add("--order", choices=("worst", "random"), default="worst", help=orders)
    add("--rounds", type=at_least_one, default=10_000, metavar="N", help="rounds to play at most" + default)
    add("--seed", type=seed_number, default=0, metavar="N", help="seed of the examples" + default)
    add_out(made, "docs/game")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    args = _parser().parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        game = play(args.examples, args.margin, seed=args.seed, order=args.order, n_rounds=args.rounds)
        print(table(game))
        print(summary(game))
        print(*save(draw(game), args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
