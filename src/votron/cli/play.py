"""``votron play``: the perceptron game, a training run and a drawing pad, in the browser."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import click

from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import load_model
from votron.cli.output import Output
from votron.cli.reading import DataArgument, base_name, read_labelled
from votron.data.formats import KNOWN_SETS
from votron.errors import VotronError


@command("play", examples=["votron play --model digits.votron --test digits"])
@option("--port", "N", "Port (default: a free one).", click.IntRange(0, 65535), default=0)
@flag("--no-browser", "Print the address, and do not open it.")
@option("--model", "MODEL", "Also show this model, of --estimator voted.", options.FILE)
@option("--test", "FILE", "Labelled rows to measure the errors of MODEL on.", options.FILE)
@option("--export", "FILE", "Write an HTML file that replays games and a run.", NewFile())
@option("--game", "LINK", "With --export: a game to replay, as Copy link gives it.", multiple=True)
@options.quiet
def play(
    port: int,
    no_browser: bool,
    model: str | None,
    test: str | None,
    export: str | None,
    game: Sequence[str],
    out: Output,
) -> None:
    """Open a page: the perceptron game, a training run to move through, and a pad to draw a digit on.

    Only this machine can reach the page. Ctrl-C ends the server.
    """
    if game and export is None:
        raise click.UsageError("--game goes with --export.")
    if test and model is None:
        raise click.UsageError("--test goes with --model.")
    if export is not None:
        from votron.web import export_lecture

        shown = _pieces(model, test)
        size = export_lecture(export, shown[0 if model is None else -1], list(game))
        out.note(f"Wrote {export}, {size / 1e6:.1f} MB.")
        return
    from votron.web import play as serve

    def say(address: str) -> None:
        print(address, flush=True)
        out.note("Open it in a browser; Ctrl-C ends the server." if no_browser else "Ctrl-C ends the server.")

    with contextlib.suppress(KeyboardInterrupt):  # how a server ends
        serve(_pieces(model, test), port=port, open_browser=not no_browser, say=say)


def _pieces(path: str | None, test: str | None) -> list[Any]:
    """Return what the page shows: bundled models, and the one in a file with rows to measure it on."""
    from votron.web import pieces

    if path is None:
        return pieces()
    saved = load_model(path)
    trained_on, X, y = saved.part("data").get("name"), None, None
    test = test or (trained_on if trained_on in KNOWN_SETS else None)
    if test is not None:
        data = DataArgument(test, reading={"part": "test"} if test in KNOWN_SETS else {})
        examples = read_labelled(test, saved.reading(data))
        X, y = saved.features(examples.X), examples.y
    try:
        return pieces(saved.estimator, base_name(path), X, y, raw=saved.estimator is saved.model)
    except VotronError as error:
        raise VotronError(f"{path}: {error}") from None
