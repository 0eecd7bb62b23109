"""Output of commands: text, tables, JSON, warnings, and files that are written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from votron._util.files import replacing, write_bytes
from votron._util.text_tables import as_text, wants_colour
from votron.errors import MissingPackageError, VotronError

if TYPE_CHECKING:
    from votron._util.types import Params

_WIDEST = 120
_WIDEST_NAME = 60
_NOT_ASCII = re.compile(r"[^ -~]")
_WHOLE_WORDS: Params = {"break_long_words": False, "break_on_hyphens": False}  # options and paths


# -- for people -------------------------------------------------------------------------------------------------------


def printable(text: str, keep: str = "\n") -> str:
    r"""Return a text that a terminal shows and does not obey: names in files from strangers may hold anything."""
    return _escape(text, keep, lambda one: one.encode("unicode_escape").decode("ascii"))


def _escape(text: str, keep: str, escaped: Callable[[str], str]) -> str:
    def shown(match: re.Match[str]) -> str:
        one = match[0]
        harmless = one.isprintable() or unicodedata.category(one) == "Zs"  # spaces that are not broken, or wide
        return one if harmless or one in keep else escaped(one)

    return text if text.isprintable() else _NOT_ASCII.sub(shown, text)


@contextmanager
def escaping_stdout() -> Iterator[None]:
    """Let standard output write what its encoding lacks as an escape instead of failing on it."""
    stream: Any = sys.stdout
    if not hasattr(stream, "reconfigure"):
        yield
        return
    before = stream.errors
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with suppress(ValueError, OSError):  # it may be closed, or full
            stream.reconfigure(errors=before)


def width() -> int:
    """Return how many columns there are to print in."""
    return max(40, min(_WIDEST, shutil.get_terminal_size().columns))


def bold(text: str) -> str:
    """Return a heading."""
    return f"\x1b[1m{printable(text)}\x1b[0m" if wants_colour(sys.stdout) else printable(text)


def table(rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> str:
    """Return rows of cells as aligned lines, the head first."""
    shown = [[printable(cell, keep="") for cell in row] for row in rows]
    return as_text(shown, colour=wants_colour(sys.stdout), left=left)


def pairs(found: Mapping[str, str], indent: int = 0) -> str:
    """Return names and values, one to a line; long values go on below."""
    shown = [(printable(name, keep=""), printable(words)) for name, words in found.items()]
    wide = min(_WIDEST_NAME, max((len(name) for name, _ in shown), default=0)) + 2
    lines = []
    for name, words in shown:
        first = " " * indent + name.ljust(wide - 2) + "  "
        rest = " " * (indent + wide)
        line = textwrap.fill(words, width(), initial_indent=first, subsequent_indent=rest, **_WHOLE_WORDS)
        lines.append(line.rstrip())
    return "\n".join(lines)


def wrapped(text: str) -> str:
    """Return a sentence within the width of the terminal."""
    return textwrap.fill(printable(text), width(), **_WHOLE_WORDS)


class Notes:
    """Remarks and progress, on standard error; nothing if the user asked for quiet."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr is not None and sys.stderr.isatty()
        """Whether progress is shown: on a terminal only."""
        self._said: set[str] = set()

    def __call__(self, *texts: str) -> None:
        """Print sentences, each once."""
        for text in texts:
            if not self.quiet and text not in self._said:
                self._said.add(text)
                print(wrapped(text), file=sys.stderr, flush=True)

    def once(self, texts: Iterable[str]) -> None:
        """Print sentences, each once."""
        self(*texts)


# -- for machines -----------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value as JSON takes it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def as_json(document: Any, indent: int | None = None) -> str:
    r"""Return JSON that can be shown on a terminal: what it would obey is escaped."""
    text = json.dumps(plain(document), indent=indent, ensure_ascii=False)
    return _escape(text, "\n", lambda one: json.dumps(one)[1:-1])


def print_json(document: Any) -> None:
    """Print the one document of a command."""
    print(as_json(document, indent=2))


# -- files ------------------------------------------------------------------------------------------------------------


def check_output(path: str | None, option: str = "-o", *, inputs: Sequence[str] = ()) -> None:
    """Refuse a place that cannot be written to, before the work."""
    if path is None or path == "-":
        return
    target = Path(os.path.realpath(path))
    for source in inputs:
        if source != "-" and target.exists() and os.path.exists(source) and os.path.samefile(source, target):
            raise VotronError(f"{option} must be another file than {source!r}, which is read.")
    if target.is_dir():
        raise VotronError(f"{option} must be the name of a file. Got the folder {path!r} instead.")
    if not target.parent.is_dir():
        raise VotronError(f"Cannot write {path!r}: there is no folder {str(target.parent)!r}.")
    protected = target if target.exists() else target.parent
    if not os.access(protected, os.W_OK):
        raise VotronError(f"Cannot write {path!r}: {str(protected)!r} is write-protected.")


def check_different(**outputs: str | None) -> None:
    """Refuse two outputs in one file, each given by the name of its option."""
    seen: dict[str, str] = {}
    for name, path in outputs.items():
        if path is None or path == "-":
            continue
        option = f"{'-' if len(name) == 1 else '--'}{name}"
        other = seen.setdefault(os.path.realpath(path), option)
        if other != option:
            raise click.UsageError(f"{other} and {option} must be two files. Got {path!r} for both instead.")


def check_named(path: str | None, option: str) -> None:
    """Refuse standard output where it holds something else."""
    if path == "-":
        raise click.UsageError(f"{option} must be the name of a file here. Got '-' instead.")


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """Open a file, or standard output for "-"; a file appears when all is written, and not at all after an error."""
    target = Path(os.path.realpath(path))
    if path == "-":
        yield sys.stdout.buffer
    elif target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a device or pipe must not be replaced
        with open(target, "wb") as device:
            yield device
    else:
        with replacing(target) as temporary, open(temporary, "wb") as file:
            yield file


FIGURES = (".svg", ".png", ".pdf")


def check_figure(path: str | None, option: str = "--figure") -> None:
    """Refuse a file that no figure can be written to, before the work; and see that matplotlib is there."""
    if path is None:
        return
    if Path(path).suffix.lower() not in FIGURES:
        raise click.UsageError(f"{option} must be a file that ends in {', '.join(FIGURES)}. Got {path!r} instead.")
    check_output(path, option)
    try:
        import matplotlib
    except ImportError:
        raise MissingPackageError('Figures need matplotlib: pip install "votron[cli]".') from None
    matplotlib.use("agg")


def write_figure(draw: Callable[[], Any], path: str) -> None:
    """Draw a figure, and write it in the format of the file's name."""
    from votron._util.plotting import as_bytes, pyplot

    figure = draw()
    try:
        write_bytes(Path(path), as_bytes(figure, Path(path).suffix[1:].lower()))
    finally:
        pyplot().close(figure)


def discard_stdout() -> None:
    """Send the rest of the output nowhere, so that the interpreter does not fail on it when it ends."""
    with suppress(OSError, ValueError):  # standard output may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- warnings ---------------------------------------------------------------------------------------------------------


@contextmanager
def warnings_as_sentences(prog: str) -> Iterator[None]:
    """Print warnings for users as sentences; leave out those for programmers, unless ``python -W`` asks for them."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            print(printable(f"{prog}: Warning: {' '.join(str(message).split())}"), file=sys.stderr)

        warnings.showwarning = show
        yield
