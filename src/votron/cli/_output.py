"""Output of commands: tables, JSON, warnings, and files that are whole or not there."""

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
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from votron._util.files import replacing, write_bytes
from votron._util.text_tables import as_text, wants_colour
from votron.cli._parser import UsageError
from votron.errors import MissingPackageError, VotronError

_DEFAULT_WIDTH = 80
_WIDEST = 120
_WIDEST_NAME = 60
"""Characters of a name for which others make room."""
_SPACES = "\n\t"  # which filling a paragraph makes plain spaces
_NOT_ASCII = re.compile(r"[^ -~]")
_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}  # digests, options, paths


# -- for people -------------------------------------------------------------------------------------------------------


def printable(text: str, keep: str = "") -> str:
    r"""Return a text that a terminal shows and does not obey: what is not printable is escaped.

    Names of classes and columns, and all else in a model file or in data, may come from strangers.

    Examples
    --------
    >>> print(printable("red \x1b[31m, zwölf, \u202e"))
    red \x1b[31m, zwölf, \u202e
    """
    return _escape(text, keep, lambda one: one.encode("unicode_escape").decode("ascii"))


def _escape(text: str, keep: str, escaped: Callable[[str], str]) -> str:
    def shown(match: re.Match[str]) -> str:
        one = match[0]
        harmless = one.isprintable() or unicodedata.category(one) == "Zs"  # spaces that are not broken, or wide
        return one if harmless or one in keep else escaped(one)

    return text if text.isprintable() else _NOT_ASCII.sub(shown, text)


@contextmanager
def escaping_stdout() -> Iterator[None]:
    """Let standard output write what its encoding lacks as an escape, such as \u2212, instead of failing on it."""
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
    return min(_WIDEST, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns)


def bold(text: str, stream: TextIO | None = None) -> str:
    """Return a heading for this stream."""
    text = printable(text)
    return f"\x1b[1m{text}\x1b[0m" if wants_colour(stream or sys.stdout) else text


def table(rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,), stream: TextIO | None = None) -> str:
    """Return rows of cells as aligned lines, the head first."""
    shown = [[printable(cell) for cell in row] for row in rows]
    return as_text(shown, colour=wants_colour(stream or sys.stdout), left=left)


def pairs(found: dict[str, str], indent: int = 0) -> str:
    """Return names and what they are, one to a line; what does not fit goes on below.

    Examples
    --------
    >>> print(pairs({"rows": "1,200", "kernel": "poly"}))
    rows    1,200
    kernel  poly
    """
    shown = [(printable(name), printable(words, keep=_SPACES)) for name, words in found.items()]
    wide = min(_WIDEST_NAME, max((len(name) for name, _ in shown), default=0)) + 2
    lines = []
    for name, words in shown:
        first = " " * indent + name.ljust(wide - 2) + "  "
        rest = " " * (indent + wide)
        line = textwrap.fill(words, max(40, width()), initial_indent=first, subsequent_indent=rest, **_WHOLE_WORDS)
        lines.append(line.rstrip())
    return "\n".join(lines)


def wrapped(text: str) -> str:
    """Return a sentence within the width of the terminal."""
    return textwrap.fill(printable(text, keep=_SPACES), max(40, width()), **_WHOLE_WORDS)


class Notes:
    """Where a command says what it does: standard error, or nowhere."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr is not None and sys.stderr.isatty()
        """Whether progress is shown: on a terminal only, since in a log it says nothing."""

        self._said: set[str] = set()

    def __call__(self, text: str) -> None:
        """Say a sentence."""
        if not self.quiet:
            print(wrapped(text), file=sys.stderr, flush=True)

    def once(self, texts: Sequence[str]) -> None:
        """Say sentences that have not been said."""
        for text in texts:
            if text not in self._said:
                self._said.add(text)
                self(text)


# -- for machines -----------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value as JSON takes it: no arrays, no tuples, no numbers that are none."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def print_json(document: Any) -> None:
    """Print the one document of a command."""
    print(as_json(document, indent=2))


def as_json(document: Any, indent: int | None = None) -> str:
    r"""Return JSON that can be shown: what a terminal would obey is escaped, beyond what JSON wants escaped.

    Examples
    --------
    >>> print(as_json(["zwölf", "\x1b", "\x9b", "\U000e0001"]))
    ["zwölf", "\u001b", "\u009b", "\udb40\udc01"]
    """
    text = json.dumps(plain(document), indent=indent, ensure_ascii=False)
    return _escape(text, "\n", lambda one: json.dumps(one)[1:-1])


# -- files ------------------------------------------------------------------------------------------------------------


def check_output_path(
    path: str, what: str, option: str = "-o", *, inputs: Sequence[str] = (), replaces: bool = True
) -> None:
    """Refuse a place that cannot be written to, before the work; what ``replaces`` a file must not be a device."""
    if path == "-":
        return
    target = Path(os.path.realpath(path))
    for source in inputs:
        if source != "-" and target.exists() and os.path.exists(source) and os.path.samefile(source, target):
            raise VotronError(f"{option} must be another file than {source!r}, which is read.")
    if replaces and _is_special(target) and not target.is_dir():
        raise VotronError(f"{option} must be a plain file for {what}. Got the device or pipe {path!r} instead.")
    if target.is_dir():
        raise VotronError(f"{option} must be the name of a file for {what}. Got the folder {path!r} instead.")
    folder = target.parent
    if not folder.is_dir():
        raise VotronError(f"Cannot write {what} to {path!r}, since there is no folder {str(folder)!r}.")
    if target.exists() and not (_is_special(target) or os.access(target, os.W_OK)):
        raise VotronError(f"Cannot write {what} to {path!r}: the file is write-protected.")
    if not _is_special(target) and not os.access(folder, os.W_OK | os.X_OK):
        raise VotronError(f"Cannot write {what} to {path!r}: the folder {str(folder)!r} is write-protected.")


def refuse_one_file_for_two(**outputs: str | None) -> None:
    """Refuse two outputs in one file, each given by the name of its option without the dashes.

    Examples
    --------
    >>> refuse_one_file_for_two(o="./a.png", figure="a.png")
    Traceback (most recent call last):
        ...
    votron.cli._parser.UsageError: -o and --figure must be two files. Got 'a.png' for both instead.
    """
    seen: dict[str, str] = {}
    for name, path in outputs.items():
        if path is None or path == "-":
            continue
        option, target = f"{'-' if len(name) == 1 else '--'}{name}", os.path.realpath(path)
        if target in seen:
            raise UsageError(f"{seen[target]} and {option} must be two files. Got {path!r} for both instead.")
        seen[target] = option


def refuse_terminal(path: str, what: str) -> None:
    """Refuse to write bytes to a screen."""
    if path == "-" and sys.stdout.isatty():
        raise VotronError(f"{what} is no text for a terminal: give a file to -o, or send the output to one.")


def _is_special(path: Path) -> bool:
    """Tell whether it is a device or a pipe, which must not be replaced by a file."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """Open a file, or standard output for "-"; a file appears when all is written, and not at all after an error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, writing(f"{folder}/a") as file:
    ...     _ = file.write(b"whole")
    ...     os.path.exists(f"{folder}/a")
    False
    """
    target = Path(os.path.realpath(path))
    if path == "-":
        yield sys.stdout.buffer
    elif _is_special(target):
        with open(target, "wb") as device:
            yield device
    else:
        with replacing(target) as temporary, open(temporary, "wb") as file:
            yield file


FIGURES = (".svg", ".png", ".pdf")
"""How the names of files end that figures are written to."""


def check_figure(path: str, option: str = "--figure") -> None:
    """Refuse a file that no figure can be written to, before the work; and see that there is matplotlib."""
    if Path(path).suffix.lower() not in FIGURES:
        raise UsageError(f"{option} must be a file that ends in {', '.join(FIGURES)}. Got {path!r} instead.")
    check_output_path(path, "the figure", option)
    try:
        import matplotlib
    except ImportError:
        raise MissingPackageError('Figures need matplotlib: pip install "votron[cli]".') from None
    matplotlib.use("agg")


def check_figure_and(
    path: str | None, what: str, option: str = "-o", *, figure: str | None, printed: str, inputs: Sequence[str]
) -> None:
    """Refuse a figure and a file beside it that cannot be written, before the work; ``printed`` is what is printed."""
    if figure is not None:
        check_figure(figure)
    if path == "-":
        raise UsageError(
            f"{option} must be the name of a file here, since standard output has {printed}. Got '-' instead."
        )
    refuse_one_file_for_two(**{option.lstrip("-"): path, "figure": figure})
    if path is not None:
        check_output_path(path, what, option, inputs=inputs)


def write_figure(draw: Callable[[], Any], path: Path) -> None:
    """Draw a figure, and write it to a file in the format of its name."""
    from votron._util.plotting import as_bytes, pyplot

    figure = draw()
    try:
        write_bytes(path, as_bytes(figure, path.suffix[1:].lower()))
    finally:
        pyplot().close(figure)


def discard_stdout() -> None:
    """Send what is still to be printed nowhere, so that the interpreter does not fail on it at its end."""
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
