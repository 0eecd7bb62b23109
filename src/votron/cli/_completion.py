"""``votron completion``: what a shell needs to complete commands, options and names of files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from votron._util.text import shortened
from votron.cli._parser import Parser
from votron.errors import MissingPackageError

_LONGEST = 70
"""Characters of what fish shows beside an option."""
SHELLS = ("bash", "zsh", "tcsh", "fish")

EXAMPLES = [
    ("votron completion bash > votron.bash", "then source votron.bash in ~/.bashrc"),
    ("votron completion zsh > _votron", "in a folder of $fpath"),
    ("votron completion tcsh > votron.csh", "then source votron.csh in ~/.tcshrc"),
    ("votron completion fish > ~/.config/fish/completions/votron.fish", "where fish finds it"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron completion SHELL",
        "Print a script that lets a shell complete commands, options and file names.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from votron.cli import build_all
    from votron.cli._options import EVERY_ESTIMATOR

    parser = build_all([f"--estimator={EVERY_ESTIMATOR}"])
    if args.shell == "fish":  # which shtab does not know
        print("\n".join(fish_lines(parser)))
        return 0
    try:
        import shtab
    except ImportError:
        raise MissingPackageError('Completions need shtab: pip install "votron[cli]".') from None
    print(shtab.complete(parser, shell=args.shell))
    return 0


def fish_lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the commands that tell fish what may follow."""
    yield "complete -c votron -f"
    yield from _command_lines(parser, "", [])


def _command_lines(parser: argparse.ArgumentParser, words: str, before: list[str]) -> Iterator[str]:
    """Yield what may follow these words, and the commands beneath them."""
    seen = f"__fish_seen_subcommand_from {words}" if words else ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names = " ".join(action.choices)
            condition = "; and ".join(filter(None, [seen, f"not __fish_seen_subcommand_from {names}"]))
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, inner in action.choices.items():
                yield f"complete -c votron -n {_quoted(condition)} -a {name} -d {_quoted(helps.get(name, ''))}"
                yield from _command_lines(inner, name, [*before, name])
        elif action.help != argparse.SUPPRESS:
            condition = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in before)
            yield from _action_lines(action, condition)


def _action_lines(action: argparse.Action, condition: str) -> Iterator[str]:
    """Yield what fish has to know of an option, or of an argument that is a file or one of several words."""
    start = "complete -c votron" + (f" -n {_quoted(condition)}" if condition else "")
    files, choices = hasattr(action, "complete"), list(action.choices or ())
    if not action.option_strings:
        if files:
            yield f"{start} -F"
        elif choices:
            yield f"{start} -a {_quoted(' '.join(map(str, choices)))}"
        return
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings)
    values = "" if action.nargs == 0 else " -r -F" if files else " -x"
    listed = f" -a {_quoted(' '.join(map(str, choices)))}" if choices else ""
    words = (action.help or "").partition(" (")[0].replace("%%", "%")
    yield f"{start} {names}{values}{listed} -d {_quoted(shortened(words, _LONGEST))}"


def _quoted(text: str) -> str:
    """Return a text in the quotes of fish, where a backslash and a quote are escaped."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
