"""The former home of how steps are stored, for files that name it; they are in `votron.saving.steps`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.saving.steps", encoder_from="step_from", encoder_state="step_state")
