"""The old home of `read_idx` and `load_mnist_folder`."""

from votron._moved import moved

__getattr__ = moved(
    __name__,
    "votron.data.formats.idx",
    *("read_idx", "load_mnist_folder"),
    load_digits_folder="load_mnist_folder",
)
