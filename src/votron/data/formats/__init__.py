"""Formats of data, one module each."""

from __future__ import annotations

from votron.data.formats.base import FORMATS, Format, Part, format_named, format_of_suffix, register_format
from votron.data.formats.columnar import Arrow, Parquet
from votron.data.formats.csv import Csv, Tsv
from votron.data.formats.images import KNOWN_SETS, Idx, Images
from votron.data.formats.json import Json, JsonLines
from votron.data.formats.npy import Npy, Npz
from votron.data.formats.svmlight import Svmlight

__all__ = ["FORMATS", "KNOWN_SETS", "Format", "Part", "format_named", "format_of_suffix", "register_format"]

for _format in (Csv, Tsv, Json, JsonLines, Parquet, Arrow, Svmlight, Idx, Npy, Npz, Images):
    register_format(_format)
