"""Reading what users have."""

from votron.data.idx import load_digits_folder, read_idx

__all__ = ["load_digits_folder", "read_idx"]
