"""The page docs/command-line.md, from the help texts: ``make reference``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from votron.cli import COMMANDS, votron

_WIDTH = 100
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

- `-` is standard input or standard output. `--json` prints a single JSON document on standard output and nothing else
  (`votron predict --json`: one object per line). Remarks, and progress on a terminal, go to standard error; `--quiet`
  suppresses both.
- The exit status is 0 on success, 1 if a command failed, 2 if it was used wrongly, and 130 after Ctrl-C; a search
  that Ctrl-C ends (`votron tune`, `votron train --tune`) keeps the best so far, says so, and succeeds. Errors are a
  single sentence; with `VOTRON_DEBUG=1`, errors in Votron itself show a traceback.
- Files are written completely or not at all: an error, Ctrl-C or a crash leaves the old file, or none.
- Options that are parameters of an estimator have the same names and defaults as in Python. Without `--random-state` a
  seed is drawn, printed and stored in the model file, so every run can be repeated. `SOURCE_DATE_EPOCH` replaces the
  date in model files. `NO_COLOR` turns colours off.
- Shell completion: `eval "$(_VOTRON_COMPLETE=bash_source votron)"` in `~/.bashrc`; for zsh and fish in the same way.
"""


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD, _block("votron", votron)]
    context = click.Context(votron)
    for name, words in COMMANDS.items():
        parts.append(f"## votron {name}\n\n{words}\n")
        found = votron.get_command(context, name)
        assert found is not None
        parts += [_block(line, each) for line, each in _commands(f"votron {name}", found)]
    return "\n".join(parts)


def _commands(line: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those beneath it, with what is typed."""
    yield line, command
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from _commands(f"{line} {name}", each)


def _block(line: str, command: click.Command) -> str:
    context = click.Context(command, info_name=line, terminal_width=_WIDTH, help_option_names=["-h", "--help"])
    return f"```text\n$ {line} --help\n{command.get_help(context).rstrip()}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(page())
