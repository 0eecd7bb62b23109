"""``votron explain``: why rows of a file have their labels."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from votron._util.text import did_you_mean
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import SavedModel, load_model
from votron.cli.output import Notes, check_figure, print_json, printable, write_figure
from votron.cli.reading import read_batches
from votron.errors import VotronError

_MOST_ROWS = 100_000


class Rows(click.ParamType):  # type: ignore[type-arg]
    """Numbers of rows, such as 1,3-5."""

    name = "rows"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Return the numbers."""
        found: list[int] = []
        for part in value.split(",") if isinstance(value, str) else ():
            low, _, high = part.partition("-")
            ends = [low, high or low]
            if not all(end.isdecimal() for end in ends) or not 1 <= int(low) <= int(ends[1]) < int(low) + _MOST_ROWS:
                self.fail(f"must be numbers of rows from 1 on, such as 7 or 1,3-5. Got {value!r} instead.", param, ctx)
            found += range(int(low), int(ends[1]) + 1)
        return found


@command(
    "explain",
    examples=[
        "votron explain digits.votron digits --part test --row 7",
        "votron explain digits.votron digits --part test --row 7 --figure why.png",
        "votron explain days.votron days.csv --row 1,3-5 --top 3 --json",
        "votron explain days.votron days.csv --row 1 --of no",
    ],
)
@options.model
@options.data
@option(
    "--row",
    metavar="N",
    type=Rows(),
    multiple=True,
    required=True,
    help="Data row to explain, as in the file: 1 is the first after the header; several as 1,3-5; repeatable.",
)
@option("--top", metavar="K", type=options.COUNT, default=5, help="Terms to show for and against (default: 5).")
@option("--of", metavar="CLASS", help="Explain the score of this class (default: the predicted one).")
@option("--against", metavar="CLASS", help="With --of: the class to compare with (default: none).")
@options.figure(help="Draw the explanation of one row to an .svg, .png or .pdf file.")
@options.rule
@options.label(help="Column with labels, which is ignored (default: as in training).")
@options.common
@options.other_data
def explain(
    model: str,
    data: str,
    row: tuple[list[int], ...],
    top: int,
    of: str | None,
    against: str | None,
    figure: str | None,
    rule: str | None,
    normalize_vectors: bool,
    label: str | None,
    as_json: bool,
    quiet: bool,
    reading: Params,
) -> None:
    """Show why a row has its label: which training examples and features make its score.

    The predicted class is compared with the runner-up. Of a vote it is also shown how the vectors voted over the time
    of training. Training examples are numbered as the rows of the training file, from 1.
    """
    notes = Notes(quiet)
    wanted = list(dict.fromkeys(number for numbers in row for number in numbers))
    check_figure(figure)
    if figure is not None and len(wanted) > 1:
        raise click.UsageError(f"--figure draws one row. Got {len(wanted)} instead.")
    if against is not None and of is None:
        raise click.UsageError("--against goes with --of.")
    saved = load_model(model, data, rule=rule, normalize_vectors=normalize_vectors)
    classes = _class(saved, of), _class(saved, against)
    how = saved.reading(data, label, reading, labels="none")
    found = _explained(saved, data, how, wanted, classes, top, notes)
    notes(*saved.remarks())
    if figure is not None:
        each, shape = found[0]
        write_figure(lambda: each.plot(image_shape=shape).figure, figure)
    if as_json:
        print_json({"rows": [each.to_dict() for each, _ in found]})
    else:
        print(printable("\n\n".join(str(each) for each, _ in found)))


def _explained(
    saved: SavedModel,
    path: str,
    how: Params,
    wanted: list[int],
    classes: tuple[Any, Any],
    top: int,
    notes: Notes,
) -> list[tuple[Any, Any]]:
    """Return an explanation of each row, in the order asked for, and the shape of its image, if it is one."""
    found: dict[int, tuple[Any, Any]] = {}
    n = 0
    refused = {"missing": "drop"} if how["missing"] == "refuse" else {}  # only the rows asked for must be complete
    for batch in read_batches(path, **how | refused):
        notes(*batch.notes)
        n += batch.n_rows + batch.dropped
        numbers = batch.row_numbers
        for i in np.flatnonzero(np.isin(numbers, wanted)).tolist():
            number, shape = int(numbers[i]), batch.image_shape
            each = saved.explained(batch.X[i : i + 1], *classes, top=top, name=f"row {number}")
            found[number] = each, shape if shape is not None and len(shape) == 2 else None
        if n >= max(wanted):
            break
    for number in wanted:
        if number not in found and number <= n:
            raise VotronError(
                f"Row {number:,} of {path!r} has missing values, which the model cannot fill in: train with "
                "--missing mean, median or most-frequent."
            )
        if number not in found:
            raise VotronError(f"There are {n:,} rows in {path!r}. --row asks for {number:,}.")
    return [found[number] for number in wanted]


def _class(saved: SavedModel, text: str | None) -> Any:
    """Return the class that was typed."""
    known = {str(label): label for label in saved.classes.tolist()}
    if text is None or text in known:
        return None if text is None else known[text]
    meant = did_you_mean(text, known)
    raise click.UsageError(f"The class must be one of {', '.join(known)}. Got {text!r} instead.{meant}")
