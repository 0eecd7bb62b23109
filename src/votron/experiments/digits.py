"""The paper's table on the digits that come with scikit-learn: seven rules, seven moments, one fit a permutation.

``python -m votron.experiments.digits`` prints it and writes a report.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from votron.experiments._command import (
    Counter,
    command_line,
    ended,
    environment,
    parser,
    seconds,
    setting_of,
    wants_colour,
)
from votron.experiments._table import Data, RuleTable, as_markdown, as_text, cells, make_table

__all__ = ["digits", "main"]

N_TEST = 597


def digits() -> Data:
    """Return the digits, 8 x 8 pixels, grey values 0 to 16: 1,200 to train on, 597 to test with, always the same.

    Examples
    --------
    >>> [part.shape for part in digits()]
    [(1200, 64), (1200,), (597, 64), (597,)]
    """
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X.astype(np.uint8), y, test_size=N_TEST, random_state=0, stratify=y)
    return X, y, X_test, y_test


def report(table: RuleTable, command: str) -> str:
    """Return the report: the table, and all that is needed to make it again."""
    setting = table.setting
    facts = {
        "Command": f"`{command}`",
        "Date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "Data": f"`sklearn.datasets.load_digits`: {1797 - N_TEST:,} examples to train on, {N_TEST} to test with "
        f"(`train_test_split(..., test_size={N_TEST}, random_state=0, stratify=y)`)",
        "Kernel": f"(1 + x·z)^{setting.degree} on grey values 0 to 16",
        "Seeds": ", ".join(map(str, setting.seeds)),
        "Training": f"{seconds(table.train_seconds)}; stopped at T = {_stopped(table)}",
        "Scan": f"{seconds(table.scan_seconds)} for all rules and moments",
        **environment(),
    }
    return "\n".join(
        [
            "# Votron on handwritten digits",
            "",
            f"{_caption(table)} SupVec counts the examples with a mistake, Mistake the mistakes of all ten labels.",
            "The layout is that of Table 1 of Freund & Schapire (1999); their data, MNIST, are others.",
            "",
            as_markdown(cells(table)),
            "",
            "## How it was made",
            "",
            *(f"- {name}: {value}" for name, value in facts.items()),
            "",
            "Times vary, and include compilation where the loops run for the first time; all else is the same.",
            "",
        ]
    )


def _caption(table: RuleTable) -> str:
    n = table.setting.permutations
    mean = f"mean of {n} permutations" if n > 1 else f"one permutation, seed {table.setting.seed}"
    return f"Test error in % after T epochs ({mean}), kernel (1 + x·z)^{table.setting.degree}."


def _stopped(table: RuleTable) -> str:
    low, high = min(table.stopped_after), max(table.stopped_after)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = parser(
        "digits",
        "Train on scikit-learn's digits; print the rules' errors as the paper's Table 1 does.",
        permutations=10,
    )
    options.add_argument(
        "--out",
        type=Path,
        default=Path("reports/digits.md"),
        metavar="FILE",
        help="where the report goes (default: %(default)s)",
    )
    args = options.parse_args(arguments)

    def work() -> int:
        setting = setting_of(args)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        table = make_table(digits(), setting, progress=Counter(setting.permutations))
        args.out.write_text(report(table, command_line("digits", arguments)), encoding="utf-8")
        print(f"\n{_caption(table).replace('·', '.')}\n")
        print(as_text(cells(table), colour=wants_colour(sys.stdout)))
        train, scan = seconds(table.train_seconds), seconds(table.scan_seconds)
        print(f"\nTraining took {train}, the scan that all errors come from {scan}.")
        print(f"Report: {args.out}")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
