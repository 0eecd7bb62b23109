"""The former home of the bounds after one pass; they are in `votron.theory.bounds`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.theory.bounds", "fixed_draw_bound", "one_pass_bound")
