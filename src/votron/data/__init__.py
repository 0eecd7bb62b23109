"""Reading what users have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from votron.data.idx import load_digits_folder, read_idx

if TYPE_CHECKING:
    from votron.data.image_sets import ImageSet, load_image_set
    from votron.data.tables import tabular_encoder

__all__ = ["ImageSet", "load_digits_folder", "load_image_set", "read_idx", "tabular_encoder"]


def __getattr__(name: str) -> Any:
    # These load scikit-learn, which reading files does not need.
    if name in ("ImageSet", "load_image_set"):
        from votron.data import image_sets

        return getattr(image_sets, name)
    if name == "tabular_encoder":
        from votron.data.tables import tabular_encoder

        return tabular_encoder
    raise AttributeError(f"module 'votron.data' has no attribute {name!r}")
