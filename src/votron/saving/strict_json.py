"""The former home of JSON from strangers; it is in `votron.saving.fields`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.saving.fields", "Size", "measured", "parsed")
