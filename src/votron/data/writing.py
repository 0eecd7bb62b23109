"""Files of examples in the formats of others, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from votron._util.files import write_bytes
from votron.data.examples import Examples
from votron.data.formats import FORMATS, Format, format_named, format_of_suffix
from votron.errors import DataError, VotronError

__all__ = ["write_examples"]


def write_examples(examples: Examples, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write examples to a file in a format of choice, for `read_examples` and for others.

    Tables get the labels as their last column, called as it was, or "label"; features without a name are called
    x0, x1, and so on. An ``.npz`` file has the arrays ``X`` and ``y``, or those of `scipy.sparse.save_npz` and ``y``.
    svmlight is as svm-train takes it: features count from 1, labels are numbers, truth values become 1 and -1, and
    labels that are not known 0. A last feature that is always 0 is written once, so that it is not lost.

    Parquet, Arrow and ``.npz`` are read again as they were, and JSON too but for the widths of numbers, and texts that
    are dates. svmlight is read as float64, exact to 2^53. CSV and TSV are
    text, and say of no text that it is one: if all texts of a column look like numbers or truth values, they are read
    as such unless the column is named in ``as_text`` (of labels, unless ``label_kind="text"``); texts such as "NA" are
    missing unless ``na_values=()``, and an empty one always is; spaces around texts are lost; and names of columns
    that are numbers need ``header=True``.

    Parameters
    ----------
    examples : Examples
        The examples.
    path : str or path-like
        The file. It is the old one or the new one at any moment, never half of it.
    format : {"csv", "tsv", "json", "jsonl", "parquet", "arrow", "svmlight", "npz"}, optional
        By default what the name of the file says.

    Raises
    ------
    DataError
        If the format cannot hold the examples, such as words in svmlight.
    VotronError
        If there is no such format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from votron.data import Examples, write_examples
    >>> examples = Examples(np.array([[0.5, 0.0], [0.0, 2.0]]), np.array([1, -1]), "npy", "two.npy")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.svm")
    ...     write_examples(examples, path)
    ...     print(path.read_text(), end="")
    1 1:0.5
    -1 2:2
    """
    target = Path(os.path.expanduser(path))
    chosen = format_named(format) if format is not None else format_of_suffix(target.suffix.lower())
    written = [name for name, each in FORMATS.items() if type(each).write is not Format.write]
    if chosen is None or chosen.name not in written:
        rule = ", ".join(map(repr, written))
        raise VotronError(
            f"The 'format' parameter of write_examples must be one of {rule}, or the name of the file must say. "
            f"Got {format!r} for {target.name!r} instead.",
            parameter="format",
        )
    content = chosen.write(examples)
    try:
        write_bytes(target, content)
    except OSError as error:
        raise DataError(f"Cannot write '{target}': {error.strerror or error}.") from None
