"""Names that have moved: the old place goes on working, and says where the new one is.

A module that is gone altogether has no file any more, only a line in `MODULES`: whoever imports it, a pickle or another
old file among them, gets a module whose names are looked up in the new place.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULES: dict[str, tuple[str, str]] = {
    "votron.data.batches": ("votron.data.reading", "ExampleBatches open_batches Batches=ExampleBatches"),
    "votron.data.idx": ("votron.data.formats.idx", "read_idx load_mnist_folder load_digits_folder=load_mnist_folder"),
    "votron.data.image_sets": ("votron.data.formats.image_sets", "ImageSet load_image_set"),
    "votron.estimators._forms": ("votron.estimators._score_functions", "Expansion Linear Sequence"),
    "votron.estimators.saved": ("votron.saving.models", "load save"),
    "votron.images": ("votron.experiments.images", "EIGHT FOUR Deskew Shift Thicken with_copies"),
    "votron.kernels.given": ("votron.kernels", "CallableKernel PrecomputedKernel"),
    "votron.kernels.registry": (
        "votron.kernels.base",
        "KERNELS MADE_OF_KERNELS is_precomputed kernel_class make_kernel register_kernel",
    ),
    "votron.kernels.standard": ("votron.kernels", "ConjunctionKernel GaussianKernel LinearKernel PolynomialKernel"),
    "votron.kernels.wrapping": ("votron.kernels", "ComposedKernel NormalizedKernel"),
    "votron.rules.registry": ("votron.rules.base", "RULES register_rule rule_named"),
    "votron.saving.encoders": ("votron.saving.steps", "encoder_from=step_from encoder_state=step_state"),
    "votron.saving.flow": ("votron.saving.steps", "ANY_DATA Flow after check_fits"),
    "votron.saving.manifest": ("votron.saving", "Manifest read_manifest"),
    "votron.saving.sections": ("votron.saving.models", "SECTIONS manifest_with sections_of"),
    "votron.saving.strict_json": ("votron.saving.fields", "Size measured parsed"),
    "votron.theory.facts": (
        "votron.theory.evidence",
        "Assumption Measured Run ONE_VOTE ONE_RANDOM MEAN_RANDOM LAST AVERAGE MAXIMAL",
    ),
    "votron.theory.one_pass": ("votron.theory.bounds", "fixed_draw_bound one_pass_bound"),
}
"""Modules that are gone: where their names are now, and which; ``old=new`` where a name is another one there."""


def moved(old: str, new: str, *names: str, **renamed: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names are now in another, where some may have new names.

    Examples
    --------
    >>> import warnings
    >>> look_up = moved("votron.old", "votron.kernels", "make_kernel")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     look_up("make_kernel")("rbf")
    GaussianKernel(gamma=1.0, coef0=1.0)
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


class _OldPlaces:
    """Finds the modules that are gone; asked last, when no file has been found."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, _OldPlaces) if name in MODULES else None  # type: ignore[arg-type]  # it is a loader too

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Leave it to Python."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        new, names = MODULES[module.__name__]
        module.__doc__ = f"The former place of names that are in `{new}` now."
        pairs = [name.partition("=") for name in names.split()]
        renamed = {old: now or old for old, _, now in pairs}
        module.__getattr__ = moved(module.__name__, new, **renamed)  # type: ignore[method-assign]


sys.meta_path.append(_OldPlaces)
