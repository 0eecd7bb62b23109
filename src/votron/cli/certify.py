"""``votron certify``: what the theorems guarantee of a model, computed on its training data."""

from __future__ import annotations

from collections.abc import Sequence

import click

from votron._util.types import Params
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import leave_out_as_trained, load_model, read_training_data, save_model
from votron.cli.output import Notes, check_figure, check_output, print_json, printable, write_figure
from votron.cli.reading import read_labelled
from votron.errors import VotronError


@command(
    "certify",
    examples=[
        "votron certify digits.votron digits",
        "votron certify digits.votron digits --verbose",
        "votron certify days.votron days.csv --save",
        "votron certify digits.votron digits --figure bounds.svg",
    ],
)
@options.model
@options.data
@option("--delta", metavar="P", type=options.FRACTION, default=0.05, help="Chance that a guarantee fails (0.05).")
@option(
    "--test",
    metavar="FILE",
    type=options.FILE,
    help="Data not used in training, to measure errors on (default: the rows that training held out).",
)
@option("--bound", metavar="NAME", multiple=True, help="Also apply a bound of another package; repeatable.")
@options.figure(help="Plot the bounds to an .svg, .png or .pdf file.")
@option("--save", is_flag=True, help="Store the certificate in the model file.")
@options.label(help="Column with the labels (default: as in training).")
@options.common
@options.verbose
@options.drop_unlabelled
@options.other_data
def certify(
    model: str,
    data: str,
    delta: float,
    test: str | None,
    bound: Sequence[str],
    figure: str | None,
    save: bool,
    label: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    reading: Params,
) -> None:
    """Compute what the theorems guarantee about a model's error on new rows.

    DATA is what the model was trained on; it is read, and rows are held out, as in training.
    """
    from votron.theory import certify as certificate_of
    from votron.theory.statements import REGISTERED_BOUNDS

    notes = Notes(quiet)
    check_figure(figure)
    for name in bound:
        if name not in REGISTERED_BOUNDS and not REGISTERED_BOUNDS.load(name):
            raise click.UsageError(f"No installed package brings a bound {name!r}.")
    if save and model == "-":
        raise click.UsageError("--save needs a model file, and not standard input.")
    if save:
        check_output(model, "MODEL")
    saved = load_model(model, data)
    passes = saved.said("stream").get("passes")
    if isinstance(passes, int) and passes > 1:
        raise VotronError(f"{model!r} was trained by {passes} passes over a stream: no theorem is about that.")
    found = read_training_data(saved, data, label, reading)
    X, y, X_test, y_test = found.X[found.kept], found.y[found.kept], None, None
    if test is not None:
        how = leave_out_as_trained(saved, saved.reading(test, label, reading, beside=True))
        others, y_test = read_labelled(test, **how)
        X_test = others.X
    elif found.held_out is not None:
        X_test, y_test = found.X[found.held_out], found.y[found.held_out]
    certificate = certificate_of(saved.model, X, y, delta, X_test=X_test, y_test=y_test)
    if figure is not None:
        write_figure(lambda: certificate.plot().figure, figure)
    if save:
        save_model(saved.model, model, saved.provenance, certificate)
        notes(f"The certificate is in {model} now.")
    if as_json:
        print_json(certificate.to_dict())
    else:
        print(printable(certificate.describe(verbose=verbose)))
        if not verbose:
            notes("--verbose lists all bounds with their assumptions.")
