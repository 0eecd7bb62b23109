"""The old home of `load_image_set`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.data.formats.image_sets", "ImageSet", "load_image_set")
