"""The former home of what a file says of its model; it is in `votron.saving`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.saving", "Manifest", "read_manifest")
