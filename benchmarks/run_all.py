"""All benchmarks in order, each in a process of its own, and keep their results in benchmarks/results."""

from __future__ import annotations

import argparse
import subprocess
import sys

MODULES = (
    "products",
    "speed",
    "inseparable",
    "peers",
    "memory",
    "scaling",
    "linear",
    "margins",
    "accuracy",
    "libsvm",
    "suspects",
    "probabilities",
    "reading",
    "cluster",
)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    options.add_argument("--data", default="", metavar="FOLDER", help="the four files of MNIST (default: $VOTRON_DATA)")
    options.add_argument("--only", nargs="+", choices=MODULES, default=MODULES, help="which; all by default")
    options.add_argument(
        "--rows", type=int, metavar="N", help="train on the first N examples only, and keep no results"
    )
    args = options.parse_args()
    keep = ["--json"] if args.rows is None else ["--rows", str(args.rows)]
    failed = []
    for module in args.only:
        print(f"\n{'=' * 30} {module} {'=' * 30}\n", flush=True)
        if subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", "--data", args.data, *keep], check=False
        ).returncode:
            failed.append(module)
    if failed:
        print(f"\nFailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
