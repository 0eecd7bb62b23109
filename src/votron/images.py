"""The old place of `votron.experiments.images`."""

from votron._moved import moved

__getattr__ = moved(
    __name__,
    "votron.experiments.images",
    *("EIGHT", "FOUR", "Deskew", "Shift", "Thicken", "with_copies"),
)
