"""Options of reading data, as they are typed."""

from __future__ import annotations

from dataclasses import dataclass

from votron.data.options import KEPT

__all__ = ["READ_OPTIONS", "ReadOption"]


@dataclass(frozen=True)
class ReadOption:
    """How a parameter of `votron.data.read_examples` is typed.

    Attributes
    ----------
    name : str
        The parameter.
    flag : str
        Such as ``--format``.
    help : str
        What it is; ``{default}`` stands for what holds if it is not typed.
    takes : str
        What comes after it; see `votron.cli._options`.
    metavar : str or None
        What that is called.
    default : str
        What holds if it is not typed and there is no training to go by.
    main_only : bool
        Whether it is about data to learn from, and not about data for a model.
    of_labels : bool
        Whether it is about labels, and has no meaning where none are read.
    """

    name: str
    flag: str
    help: str
    takes: str = "text"
    metavar: str | None = None
    default: str = ""
    main_only: bool = False
    of_labels: bool = False

    def words(self, for_model: bool) -> str:
        """Return the help, for data of a model or to learn from."""
        return self.help.replace("{default}", "default: as in training" if self.kept and for_model else self.default)

    @property
    def kept(self) -> bool:
        """Whether it holds for data of a model as it held in training."""
        return self.name in KEPT

    @property
    def dest(self) -> str:
        """The name of the attribute that argparse gives it."""
        return self.flag.lstrip("-").replace("-", "_")


READ_OPTIONS = (
    ReadOption("format", "--format", "{formats} (default: by the name and the first bytes)", "format", "NAME"),
    ReadOption("drop", "--drop", "column to leave out; may be repeated", "texts", "COL"),
    ReadOption(
        "missing",
        "--missing",
        "where values are missing: refuse, drop the rows, or fill in the mean, median or most-frequent value (default: "
        "refuse)",
        "filling",
        "HOW",
    ),
    ReadOption(
        "drop_unlabelled",
        "--drop-unlabelled",
        "leave out rows without a label, and count them",
        "yes",
        of_labels=True,
    ),
    ReadOption(
        "na_values",
        "--na-values",
        "text that marks a missing value, beside empty, NA, NaN, null, ? and the like; may be repeated ({default})",
        "texts",
        "TEXT",
        "default: these alone",
    ),
    ReadOption(
        "only_na_values",
        "--only-na-values",
        "nothing but empty fields and the texts of --na-values marks a missing value ({default})",
        "yes",
        default="default: NA and the like do too",
    ),
    ReadOption(
        "n_features",
        "--features",
        "svmlight: number of features (default: as many as occur)",
        "count",
        "N",
        main_only=True,
    ),
    ReadOption(
        "zero_based",
        "--zero-based",
        "svmlight: features are numbered from 0 ({default})",
        "yes",
        default="default: if there is a feature 0",
    ),
    ReadOption(
        "max_bytes",
        "--max-expanded",
        "largest size that compressed input may expand to, such as 10GB (default: 4GiB)",
        "size",
        "SIZE",
    ),
    ReadOption("part", "--part", "which part of digits, mnist or fashion (default: train)", "part"),
    ReadOption(
        "encoding",
        "--encoding",
        "encoding of text files, such as latin-1 ({default})",
        "text",
        "NAME",
        "default: utf-8",
    ),
    ReadOption(
        "header",
        "--header",
        "whether the first line of CSV names the columns; without such a line they are called c0, c1, and so on "
        "({default})",
        "yes or no",
        default="default: yes, and an error if that line looks like data",
    ),
    ReadOption("delimiter", "--delimiter", "character between CSV fields (default: detected)", "character", "C"),
    ReadOption(
        "quote",
        "--quote",
        "character around CSV fields; '' for none ({default})",
        "quote",
        "C",
        "default: detected",
    ),
    ReadOption(
        "decimal",
        "--decimal",
        "decimal mark of CSV, . or , ({default})",
        "decimal mark",
        "C",
        "default: detected for each column",
    ),
    ReadOption("rgb", "--rgb", "read images in colour instead of grey", "yes"),
    ReadOption(
        "resize",
        "--resize",
        "resize images to this height and width",
        "height and width",
        "HxW",
    ),
)
