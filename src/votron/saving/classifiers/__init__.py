"""Classifiers in model files: one object for each class, which says what is written down and how it is built again.

A new class needs one such object, in the module of its kind or in one of its own that is imported here.
"""

from votron.saving.classifiers import compact, kernel, linear  # noqa: F401  # each registers its classes
from votron.saving.classifiers.base import CLASSIFIERS, StoredClassifier, classifier_from, classifier_state, stored

__all__ = ["CLASSIFIERS", "StoredClassifier", "classifier_from", "classifier_state", "stored"]
