"""Reading what users have."""

from votron.data.idx import load_digits_folder, read_idx
from votron.data.tables import tabular_encoder

__all__ = ["load_digits_folder", "read_idx", "tabular_encoder"]
