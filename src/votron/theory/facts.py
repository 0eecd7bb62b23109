"""The former home of what certificates are made of; it is in `votron.theory.evidence`."""

from votron._moved import moved

__getattr__ = moved(
    __name__,
    "votron.theory.evidence",
    *("Assumption", "Measured", "Run"),
    *("ONE_VOTE", "ONE_RANDOM", "MEAN_RANDOM", "LAST", "AVERAGE", "MAXIMAL"),
)
