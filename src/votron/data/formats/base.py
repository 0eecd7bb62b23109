"""Formats: how each is recognised, read and written; and where they are registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from votron._util.registry import Registry, objects_of
from votron._util.types import Labels, RowsLike, Series

if TYPE_CHECKING:
    from votron.data._sources import Source
    from votron.data.examples import Examples
    from votron.data.options import ReadOptions

__all__ = ["FORMATS", "Format", "Part", "format_named", "format_of_suffix", "register_format"]


@dataclass(frozen=True)
class Part:
    """Some rows of a source: those of a table with their labels among the columns, others with labels ``y``.

    ``label`` names what the labels were in, ``lines`` has the line of each row, for messages (by default rows are
    counted from 1), and ``about`` other attributes of `Examples`. ``typed`` reads a column of texts, given what it must
    hold if that is known, and ``seen`` is what the columns of the parts before hold, for parts that are batches.
    """

    X: RowsLike
    y: Labels = None
    label: str | None = None
    lines: Sequence[int] | NDArray[np.int64] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    typed: Callable[[Series, str | None, Callable[[int], str]], Series] | None = None
    seen: dict[str, str] | None = None


class Format:
    """A format of data: derive from it, with a name and a way to read.

    Attributes
    ----------
    name : str
        Its name, for ``format=`` and ``--format``.
    suffixes : tuple of str
        How the names of its files end, in lower case, with the dot.
    magic : tuple of bytes
        How its files begin, if all of them begin so.
    has_parts : bool
        Whether it may have a part to train on and one to test with, between which ``part`` chooses.
    sequential : bool
        Whether `read` yields one part after another and keeps none: then files may be larger than memory.
    reads : {"file", "folder"}
        What it is read from.
    known : tuple of str
        Names that stand for data of this format, and for no file.

    Examples
    --------
    >>> from votron.data.formats import FORMATS
    >>> svmlight = FORMATS["svmlight"]
    >>> svmlight.suffixes, svmlight.sequential
    (('.svm', '.svmlight', '.libsvm'), True)
    """

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    magic: ClassVar[tuple[bytes, ...]] = ()
    has_parts: ClassVar[bool] = False
    sequential: ClassVar[bool] = False
    reads: ClassVar[str] = "file"
    known: ClassVar[tuple[str, ...]] = ()

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the rows of a source in parts of roughly ``batch_bytes``; with None, all in one part.

        ``source.open()`` is a file of its bytes, expanded, ``source.read()`` returns all of them, and ``source.name``
        is how messages refer to it.
        """
        raise NotImplementedError

    def write(self, examples: Examples) -> bytes:
        """Return examples as the content of a file; a format that does not define this is read only."""
        raise NotImplementedError

    def looks_like(self, head: bytes) -> bool:
        """Tell whether a text that begins so can be nothing else; by default False."""
        return False

    def is_folder(self, folder: Path, options: ReadOptions) -> bool:
        """Tell whether a folder is read by this format; by default whether it reads folders at all."""
        return self.reads == "folder"

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether reading a source in parts keeps only one in memory; by default if it is sequential."""
        return self.sequential


FORMATS: Registry[Format] = Registry("format", "votron.formats", objects_of("format", Format))
"""The formats, by name."""

FormatClass = TypeVar("FormatClass", bound=type[Format])


def register_format(cls: FormatClass) -> FormatClass:
    r"""Make a format known to `read_examples`, `open_batches`, `write_examples` and the command line.

    A package may instead name its formats as entry points of the group ``votron.formats``, by their names and by each
    suffix of their files without the dot.

    Parameters
    ----------
    cls : class
        A class derived from `Format`. It is returned, so that this works as a decorator.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.data.formats import Format, Part, register_format
    >>> @register_format
    ... class Bits(Format):
    ...     name, suffixes = "bits", (".bits",)
    ...     def read(self, source, options, batch_bytes):
    ...         rows = np.array([list(map(int, line)) for line in source.read().decode().split()])
    ...         yield Part(rows[:, :-1], rows[:, -1])
    """
    FORMATS.register(cls)
    return cls


def format_named(name: str) -> Format | None:
    """Return the format of a name, if need be from another package; None if there is none."""
    if name and name not in FORMATS:
        FORMATS.load(name)
    return FORMATS.get(name)


def format_of_suffix(suffix: str) -> Format | None:
    """Return the format of files whose names end so, if need be from another package."""
    if suffix and not any(suffix in format.suffixes for format in FORMATS.values()):
        FORMATS.load(suffix[1:])
    return next((format for format in FORMATS.values() if suffix in format.suffixes), None)
