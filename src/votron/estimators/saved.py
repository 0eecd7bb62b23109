"""The former home of `votron.save` and `votron.load`, for files that name it."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.saving.models", "load", "save")
