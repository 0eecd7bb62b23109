"""Reading what users have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from votron.data.idx import load_digits_folder, read_idx

if TYPE_CHECKING:
    from votron.data.tables import tabular_encoder

__all__ = ["load_digits_folder", "read_idx", "tabular_encoder"]


def __getattr__(name: str) -> Any:
    if name == "tabular_encoder":  # loads scikit-learn, which reading files does not need
        from votron.data.tables import tabular_encoder

        return tabular_encoder
    raise AttributeError(f"module 'votron.data' has no attribute {name!r}")
