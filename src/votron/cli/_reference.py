"""The page docs/command-line.md, from the help texts: ``python -m votron.cli._reference > docs/command-line.md``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from unittest.mock import patch

from votron.cli import COMMANDS, build
from votron.cli._parser import Parser

_WIDTH = "100"
_HEAD = """\
# The command line

<!-- Made by `make reference` from the help texts; do not edit. -->

`votron` goes from a file of data to a model and its predictions, without Python. `pip install "votron[cli]"` has all
that it needs.

```sh
votron train days.csv --label Play -o days.votron     # learn
votron evaluate days.votron more-days.csv             # how good is it?
votron predict days.votron tomorrow.csv -o out.csv    # use it
```

Conventions:

- `-` is standard input or standard output, `--json` is for machines: one JSON document on standard output, and nothing
  else there (`votron predict --json`: one object a line).
- Progress and remarks go to standard error: progress on a terminal only, and neither with `--quiet`.
- The exit status is 0 if all went well, 1 if a command could not do what it was asked, 2 if it was asked wrongly, and
  130 after Ctrl-C. What went wrong is one sentence on standard error.
- Files are written whole or not at all: an error, Ctrl-C or a crash leaves the old file, or none. Ctrl-C while training
  writes nothing.
- Colour is for terminals, and not where `NO_COLOR` is set. `VOTRON_DEBUG=1` shows a traceback of errors in Votron.
- Options that are parameters of an estimator have its names and defaults; `--memory_limit` is `--memory-limit`. Where
  no `--random-state` is given, a seed is drawn, printed, and kept in the model file, so that every run can be repeated.
  `SOURCE_DATE_EPOCH` replaces the date in model files.
- Completions: `votron completion bash > votron.bash`, and `source votron.bash`.
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
    """Yield the help texts of a command: all of them, of train and tune with the options of each estimator."""
    parser = subparser(build([name]), name)
    yield f"votron {name} --help", parser.format_help()
    if name == "data":
        for action in ("list", "fetch", "convert", "describe"):
            yield f"votron data {action} --help", subparser(parser, action).format_help()
    if name in ("train", "tune"):
        from votron.cli._options import DEFAULT_ESTIMATOR
        from votron.estimators import ESTIMATORS

        for estimator in (each for each in ESTIMATORS if each != DEFAULT_ESTIMATOR):
            text = subparser(build([name, f"--estimator={estimator}"]), name).format_help()
            section = re.search(rf"^[^\n]*--estimator {estimator}[^\n]*:\n(  [^\n]*\n)+", text, re.MULTILINE)
            assert section is not None
            yield f"votron {name} --estimator {estimator} --help", f"...\n{section[0]}"


def subparser(parser: Parser, name: str) -> Parser:
    """Return the parser of a command beneath another."""
    found = next(action.choices for action in parser._actions if action.dest in ("command", "action"))
    assert isinstance(found, dict)
    made = found[name]
    assert isinstance(made, Parser)
    return made


if __name__ == "__main__":
    sys.stdout.write(page())
