"""``votron explain``: why rows of a file have their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import numpy as np

from votron._util.pipelines import steps_before
from votron._util.text import did_you_mean
from votron._util.types import Label, Params
from votron.cli import options
from votron.cli.command import command, option, values
from votron.cli.models import SavedModel
from votron.cli.output import Output, printable, write_figure
from votron.cli.reading import DataArgument, read_batches
from votron.errors import VotronError

if TYPE_CHECKING:
    from votron.data import Examples
    from votron.explanations import Explanation


def _row(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise click.BadParameter(f"must be rows counted from 1, such as 7 or 1,3-5. Got {text!r} instead.")
    return int(text)


@command("explain", examples=["votron explain digits.votron digits --part test --row 7 --figure why.png"])
@options.model
@options.data
@option("--row", "N", "Row to explain: 1 is the first after the header; several as 1,3-5.", values(_row), required=True)
@option("--top", "K", "Terms to show for and against (default: 5).", options.COUNT, default=5)
@option("--of", "CLASS", "Explain the score of this class (default: the predicted one).")
@option("--against", "CLASS", "With --of: the class to compare with (default: none).")
@options.figure("Draw the explanation of one row.")
@options.rule
@options.label("Column with labels, which is ignored (default: as in training).")
@options.common
@options.verbose
@options.other_data
def explain(
    saved: SavedModel,
    data: DataArgument,
    row: Sequence[int],
    top: int,
    of: str | None,
    against: str | None,
    figure: str | None,
    out: Output,
) -> None:
    """Show why a row has its label: which columns, features or training examples make its score.

    The predicted class is compared with the runner-up. The effect of a column is how much the score would fall, on
    average, with the value of another row. --verbose also shows the training examples for and against, and how the
    vectors voted over the time of training. Examples are numbered as the rows of the training file, from 1.
    """
    from votron.explanations.features import features_after

    if figure is not None and len(row) > 1:
        raise click.UsageError(f"--figure draws one row. Got {len(row)} instead.")
    if against is not None and of is None:
        raise click.UsageError("--against goes with --of.")
    label, other = _class(saved, of), _class(saved, against)
    found: list[Explanation] = []
    for number, batch in _rows(data.path, saved.reading(data, labels="none"), row, out).items():
        how: Params = {"feature_names": features_after(steps_before(saved.model), batch.X), "names": [f"row {number}"]}
        found += saved.estimator.explain(saved.features(batch.X), label, other, top=top, first=1, **how)
    out.note(*saved.remarks())
    if figure is not None:
        height, width, *colours = batch.image_shape or (0, 0)
        shape = (height, width) if height and not colours else None
        write_figure(lambda: found[0].plot(image_shape=shape).figure, figure)
    text = "\n\n".join(each.describe(verbose=out.verbose) for each in found)
    out.show({"rows": [each.to_dict() for each in found]}, printable(text))


def _rows(path: str, how: Params, wanted: Sequence[int], out: Output) -> dict[int, Examples]:
    """Return the rows that were asked for, by their numbers, in that order."""
    found: dict[int, Examples] = {}
    n, refused = 0, {"missing": "drop"} if how["missing"] == "refuse" else {}  # those asked for must be complete
    for batch in read_batches(path, how | refused):
        out.note(*batch.notes)
        n += batch.n_rows + batch.dropped
        for i in np.flatnonzero(np.isin(batch.row_numbers, wanted)).tolist():
            found[int(batch.row_numbers[i])] = batch.take([i])
        if n >= max(wanted):
            break
    for number in wanted:
        if number > n:
            raise VotronError(f"There are {n:,} rows in {path!r}. --row asks for {number:,}.")
        if number not in found:
            raise VotronError(f"Row {number:,} of {path!r} has missing values: train with --missing mean.")
    return {number: found[number] for number in wanted}


def _class(saved: SavedModel, text: str | None) -> Label | None:
    known = {str(label): label for label in saved.classes.tolist()}
    if text is None or text in known:
        return None if text is None else known[text]
    meant = did_you_mean(text, known)
    raise click.UsageError(f"The class must be one of {', '.join(known)}. Got {text!r} instead.{meant}")
