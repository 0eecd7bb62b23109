"""The former home of the sections of a manifest; they are in `votron.saving.models`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.saving.models", "SECTIONS", "manifest_with", "sections_of")
