"""Output of commands: text, tables, JSON, warnings, and files that are written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import sys
import tempfile
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

_WIDEST = 120
_WIDEST_NAME = 60
_NOT_ASCII = re.compile(r"[^ -~]")
_fill = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)  # so that options and paths stay whole


class Output:
    """The output of a command: results on standard output, remarks and progress on standard error."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.json, self.quiet, self.verbose = as_json, quiet, verbose
        self.live = not quiet and sys.stderr is not None and sys.stderr.isatty()
        """Whether progress is shown: on a terminal only."""
        self._noted: set[str] = set()

    def note(self, *texts: str) -> None:
        """Print remarks, each once, unless the user asked for quiet."""
        for text in texts:
            if not self.quiet and text not in self._noted:
                self._noted.add(text)
                print(wrapped(text), file=sys.stderr, flush=True)

    def show(self, document: object, text: str) -> None:
        print(as_json(document, indent=2) if self.json else text)


def printable(text: str, keep: str = "\n") -> str:
    r"""Return a text that a terminal shows and does not obey: names in files from strangers may hold anything."""

    def shown(match: re.Match[str]) -> str:
        one = match[0]
        harmless = one.isprintable() or unicodedata.category(one) == "Zs"  # spaces that are not broken, or wide
        return one if harmless or one in keep else one.encode("unicode_escape").decode("ascii")

    return text if text.isprintable() else _NOT_ASCII.sub(shown, text)


def width() -> int:
    """Return how many columns there are to print in."""
    return max(40, min(_WIDEST, shutil.get_terminal_size().columns))


def table(rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,), most: int | None = None) -> str:
    """Return rows of cells as aligned lines, the head first, and how many rows there are beyond the ``most``."""
    from votron._util.text import as_text, wants_colour

    shown = [[printable(cell, keep="") for cell in row] for row in rows[: None if most is None else most + 1]]
    lines, more = as_text(shown, colour=wants_colour(sys.stdout), left=left), len(rows) - len(shown)
    return f"{lines}\n... and {more:,} more (--verbose)" if more else lines


def pairs(found: Mapping[str, str], indent: int = 0) -> str:
    """Return names and values, one to a line; long values go on below."""
    shown = [(printable(name, keep=""), printable(words)) for name, words in found.items()]
    wide = min(_WIDEST_NAME, max((len(name) for name, _ in shown), default=0)) + 2
    lines = []
    for name, words in shown:
        first = " " * indent + name.ljust(wide - 2) + "  "
        rest = " " * (indent + wide)
        line = _fill(words, width(), initial_indent=first, subsequent_indent=rest)
        lines.append(line.rstrip())
    return "\n".join(lines)


def wrapped(text: str) -> str:
    return _fill(printable(text), width())


def plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def as_json(document: object, indent: int | None = None) -> str:
    """Return JSON in ASCII, of which a terminal obeys nothing."""
    return json.dumps(plain(document), indent=indent)


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """Open a file, or standard output for "-"; a file appears when all is written, and not at all after an error."""
    from votron._util.files import replacing

    target = Path(os.path.realpath(path))
    if path == "-":
        yield sys.stdout.buffer
    elif target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a device or pipe must not be replaced
        with open(target, "wb") as device:
            yield device
    else:
        with replacing(target) as temporary, open(temporary, "wb") as file:
            yield file


@contextmanager
def file_for(path: str) -> Iterator[str]:
    """Give the name of a file to write, which goes to standard output for "-"."""
    if path != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "file")
        yield str(kept)
        sys.stdout.buffer.write(kept.read_bytes())
        sys.stdout.flush()


def write_figure(draw: Callable[[], object], path: str) -> None:
    """Draw a figure, and write it in the format of the file's name."""
    from votron._util.plotting import as_bytes, pyplot

    figure = draw()
    try:
        content = as_bytes(figure, Path(path).suffix[1:].lower())
    finally:
        pyplot().close(figure)
    with writing(path) as file:
        file.write(content)


@contextmanager
def warnings_as_sentences(prog: str) -> Iterator[None]:
    """Print warnings for users as sentences; leave out those for programmers, unless ``python -W`` asks for them."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)

        def show(message: Warning | str, *_: object, **__: object) -> None:
            print(printable(f"{prog}: Warning: {' '.join(str(message).split())}"), file=sys.stderr)

        warnings.showwarning = show
        yield
