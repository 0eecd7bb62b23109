"""``votron certify``: what the theorems guarantee of a model, computed on its training data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import click

from votron._util.types import Params
from votron.cli import options
from votron.cli.command import command, flag, option
from votron.cli.models import SavedModel, save_model
from votron.cli.output import Output, printable, write_figure
from votron.cli.reading import DataArgument, read_labelled
from votron.errors import VotronError


@command("certify", examples=["votron certify digits.votron digits --figure bounds.svg"])
@options.model
@options.data
@option("--delta", "P", "Chance that a guarantee fails (default: 0.05).", options.FRACTION, default=0.05)
@option("--test", "FILE", "Data not used in training, to measure errors on (default: held-out rows).", options.FILE)
@option("--bound", "NAME", "Also apply a bound of another package; repeatable.", multiple=True)
@options.figure("Plot the bounds.")
@flag("--save", "Store the certificate in the model file.")
@options.label("Column with the labels (default: as in training).")
@options.common
@options.verbose
@options.drop_unlabelled
@options.other_data
def certify(
    saved: SavedModel,
    data: DataArgument,
    delta: float,
    test: str | None,
    bound: Sequence[str],
    figure: str | None,
    save: bool,
    out: Output,
) -> None:
    """Compute what the theorems guarantee about a model's error on new rows.

    DATA is what the model was trained on; it is read, and rows are held out, as in training.
    """
    from votron.theory import certify as certificate_of
    from votron.theory.statements import REGISTERED_BOUNDS

    for name in bound:
        if name not in REGISTERED_BOUNDS and not REGISTERED_BOUNDS.load(name):
            raise click.UsageError(f"No installed package brings a bound {name!r}.")
    if save and not os.access(saved.path, os.W_OK):
        raise click.UsageError("--save needs a model file that can be written.")
    passes = saved.part("stream").get("passes")
    if isinstance(passes, int) and passes > 1:
        raise VotronError(f"{saved.path!r} was trained by {passes} passes over a stream: no theorem is about that.")
    rows, held = saved.training_data(data)
    others: Params = {} if held is None else {"X_test": held.X, "y_test": held.y}
    if test is not None:
        how = saved.leaving_out(saved.reading(replace(data, path=test), beside=True))
        examples = read_labelled(test, how)
        others = {"X_test": examples.X, "y_test": examples.y}
    certificate = certificate_of(saved.model, rows.X, rows.y, delta, **others)
    if figure is not None:
        write_figure(lambda: certificate.plot().figure, figure)
    if save:
        save_model(saved.model, saved.path, saved.provenance, certificate)
        out.note(f"The certificate is in {saved.path} now.")
    out.show(certificate.to_dict(), printable(certificate.describe(verbose=out.verbose)))
    if not out.json and not out.verbose:
        out.note("--verbose lists all bounds with their assumptions.")
