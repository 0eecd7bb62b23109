"""The page docs/command-line.md, from the help texts: ``python -m votron.cli._reference > docs/command-line.md``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from votron.cli._old import COMMANDS, build
from votron.cli._parser import Parser

_WIDTH = "100"
_HEAD = """\
# The command line

<!-- Made by `make reference` from the help texts; do not edit. -->

`votron` goes from a data file to a model and its predictions without any Python. `pip install "votron[cli]"` installs
what it needs for all kinds of data files and for figures. Three commands need more: `votron export --onnx` needs
`votron[onnx]`, `votron play` needs `votron[web]`, and `--dask` needs `votron[cluster]`; all of it together is
`pip install "votron[cli,onnx,web,cluster]"`. Whatever is missing, the error names it.

```sh
votron train days.csv --label Play -o days.votron     # train a model
votron evaluate days.votron more-days.csv             # measure its error
votron predict days.votron tomorrow.csv -o out.csv    # label new rows
```

Conventions:

- `-` is standard input or standard output. `--json` prints a single JSON document on standard output and nothing else
  (`votron predict --json`: one object per line).
- Progress and remarks go to standard error; progress is shown on a terminal only. `--quiet` suppresses both.
- The exit status is 0 on success, 1 if a command failed, 2 if it was used wrongly, and 130 after Ctrl-C. Errors are a
  single sentence on standard error.
- Files are written completely or not at all: an error, Ctrl-C or a crash leaves the old file, or none.
- Colour is used on terminals, unless `NO_COLOR` is set. With `VOTRON_DEBUG=1` errors in Votron itself show a traceback.
- Options that are parameters of an estimator have the same names and defaults as in Python; `--memory_limit` works as
  well as `--memory-limit`. Without `--random-state` a seed is drawn, printed and stored in the model file, so every run
  can be repeated. `SOURCE_DATE_EPOCH` replaces the date in model files.
- For completion in the shell: `votron completion bash > votron.bash`, then `source votron.bash`.
"""


def page() -> str:
    """Return the whole page."""
    with patch.dict(os.environ, {"COLUMNS": _WIDTH, "NO_COLOR": "1"}):
        parts = [_HEAD, _block("votron --help", build([]).format_help())]
        for name, words in COMMANDS.items():
            parts.append(f"## votron {name}\n\n{words[0].upper()}{words[1:]}.\n")
            parts += [_block(command, text) for command, text in _texts(name)]
    return "\n".join(parts)


def _block(command: str, text: str) -> str:
    return f"```text\n$ {command}\n{text.rstrip()}\n```\n"


def _texts(name: str) -> Iterator[tuple[str, str]]:
    """Yield the help texts of a command: all of them, of train with the options of each estimator."""
    parser = subparser(build([name]), name)
    yield f"votron {name} --help", parser.format_help()
    for action in subcommands(parser):
        yield f"votron {name} {action} --help", subparser(parser, action).format_help()
    if name == "train":
        from votron.cli._options import DEFAULT_ESTIMATOR
        from votron.estimators import ESTIMATORS

        for estimator in (each for each in ESTIMATORS if each != DEFAULT_ESTIMATOR):
            text = subparser(build([name, f"--estimator={estimator}"]), name).format_help()
            section = re.search(rf"^[^\n]*--estimator {estimator}[^\n]*:\n(  [^\n]*\n)+", text, re.MULTILINE)
            assert section is not None
            yield f"votron {name} --estimator {estimator} --help", f"...\n{section[0]}"


def subcommands(parser: Parser) -> dict[str, Any]:
    """Return the commands beneath another, by name."""
    beneath = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(next(beneath, {}))


def subparser(parser: Parser, name: str) -> Parser:
    """Return the parser of a command beneath another."""
    command = subcommands(parser)[name]
    assert isinstance(command, Parser)
    return command


if __name__ == "__main__":
    sys.stdout.write(page())
