"""The certificate of a perceptron on digits: what the theorems say of it, beside its measured errors.

``python -m votron.papers.certificate`` prints it, and draws it to an SVG and a PNG file.
Needs matplotlib: ``pip install matplotlib``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from votron._util.plotting import pyplot, save
from votron.estimators.voted import VotedPerceptronClassifier
from votron.papers._command_line import add_out, at_least_one, ended, epochs_number, seed_number
from votron.papers._one_vs_rest import images, problem
from votron.rules import RULES
from votron.theory import Certificate, certify

__all__ = ["main", "measure"]


def measure(args: argparse.Namespace) -> Certificate:
    """Train the perceptron that the options ask for, and certify it."""
    X, y, X_test, y_test = images(args.data) if args.label is None else problem(args.label, args.data)
    model = VotedPerceptronClassifier(
        kernel="poly",
        degree=args.degree,
        gamma=1.0,
        normalize_kernel=args.normalize_kernel,
        epochs=args.epochs,
        rule=args.rule,
        margin=args.margin,
        random_state=args.seed,
        verbose=1,
    )
    comparators = ["adatron"] if args.adatron else "auto"
    return certify(model.fit(X, y), X, y, args.delta, comparators=comparators, X_test=X_test, y_test=y_test)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m votron.papers.certificate",
        description="Certify a perceptron on digits: the bounds of the literature beside the measured errors.",
        allow_abbrev=False,
    )
    add, default = made.add_argument, " (default: %(default)s)"
    add("--label", type=seed_number, metavar="L", help="one label against the others (default: all labels)")
    add("--data", default="digits", metavar="DATA", help="digits, mnist, fashion or a folder of IDX files" + default)
    add("--degree", type=at_least_one, default=4, metavar="D", help="degree of the kernel (1 + x.z)^D" + default)
    add("--normalize-kernel", action="store_true", help="examples of length 1 in feature space")
    add("--epochs", type=epochs_number, metavar="T", help="passes (default: until one makes no mistake)")
    rules = [name for name, rule in RULES.items() if not rule.needs_held_out]
    add("--rule", choices=rules, default="last", help="rule" + default)
    add("--margin", type=float, default=0.0, metavar="TAU", help="update up to this margin" + default)
    add("--delta", type=float, default=0.05, metavar="P", help="how often a guarantee may fail" + default)
    add("--adatron", action="store_true", help="find the maximal margin, also of more than 5,000 examples")
    add("--seed", type=seed_number, default=0, metavar="N", help="seed of the permutation" + default)
    add_out(made, "docs/certificate")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    args = _parser().parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        found = measure(args)
        print(found.describe(verbose=True))
        print(*save(found.plot().figure, args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
