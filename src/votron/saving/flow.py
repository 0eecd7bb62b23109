"""The former home of data on their way through steps; they are in `votron.saving.steps`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.saving.steps", "ANY_DATA", "Flow", "after", "check_fits")
