"""Names that have moved: the old place goes on working, and says where the new one is."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any


def moved(old: str, new: str, *names: str, **renamed: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names are now in another, where some may have new names.

    Examples
    --------
    >>> import warnings
    >>> look_up = moved("votron.old", "votron.kernels", "make_kernel")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     look_up("make_kernel")("rbf")
    GaussianKernel(gamma=1.0)
    >>> print(caught[0].message)
    make_kernel has moved from votron.old to votron.kernels.
    """

    def look_up(name: str) -> Any:
        if name not in names and name not in renamed:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        now = renamed.get(name, name)
        home = new if now == name else f"{new}, as {now}"
        warnings.warn(f"{name} has moved from {old} to {home}.", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(new), now)

    return look_up
