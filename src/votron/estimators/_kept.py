"""What all classifiers share that can be kept: in a file, whole or compact."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from votron.estimators._forms import Form
    from votron.estimators.compact import CompactClassifier


class KeptClassifier:
    """A classifier that can be saved, and made compact."""

    _from_file: bool = False
    """Whether it was opened from a file, and not trained anew since."""

    def save(self, path: str | os.PathLike[str], *, certificate: Any = None, provenance: Any = None) -> None:
        """Save the fitted model in one file, which `votron.load` opens.

        Parameters
        ----------
        path : str or path-like
            The file; by custom its name ends in ``.votron``. What was there is replaced when all is written.
        certificate : Certificate, optional
            What `votron.certify` found, to go with the model.
        provenance : dict, optional
            Where the model comes from, as text, numbers, lists and dicts.
        """
        from votron.saving.models import save  # most models are never saved

        save(self, path, certificate=certificate, provenance=provenance)

    def compact(self) -> CompactClassifier:
        """Return a model that scores as this one does, up to rounding, and keeps nothing else.

        Returns
        -------
        CompactClassifier
            The model; its ``gave_up_`` says what it cannot do any more.
        """
        from votron.estimators.compact import compacted

        return compacted(self)

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        """Return what the model predicts with, and what is given up by keeping no more."""
        raise NotImplementedError
