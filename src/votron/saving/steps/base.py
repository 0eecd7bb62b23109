"""The table of steps that can stand in a model file, and what is asked of each: state, build, and flow.

Only classes in the table can stand in a file. Reading, each is built by its own constructor and given what it had
learnt; nothing is fitted on what the file says, which would let it say how much work that is.

Steps from a file are sound one by one and may still not fit one another: words for a scaler, five features for a step
that takes six, a sparse matrix for one that takes none. Such a pipeline would fail at its first row, with an error that
names neither file nor step, so it is refused when it is opened: what a step takes and gives, a `Flow`, it says itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from votron.errors import ModelFileError
from votron.kernels.base import is_precomputed
from votron.saving.fields import Fields

State = dict[str, Any]
_DEEPEST = 4
"""Steps that may stand within one another."""


class StoredStep(ABC):
    """How the steps of one class are stored; `stored` makes it known.

    Attributes
    ----------
    cls : type
        The class of the transformers; its name stands in the file.
    holds : {"number", "discrete", "truth", "text", "date"}
        What a column of a table holds that meets such a step first.
    listed : bool
        Whether users are told of it where they choose a step: parts of Votron's own encoders are not theirs to choose.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> kind = STEPS["Normalizer"]
    >>> kind.state(Normalizer())
    {'params': {'copy': True, 'norm': 'l2'}}
    >>> kind.build(Fields({"params": {"norm": "l1"}}, {}, "step"), 0)
    Normalizer(norm='l1')
    >>> kind.flow(Normalizer(), Flow("numbers", 5, sparse=True))
    Flow(kind='numbers', width=5, sparse=True, names=None)
    """

    cls: Any
    holds = "number"
    listed = True

    @property
    def name(self) -> str:
        """The name of the class in a file."""
        return str(self.cls.__name__.strip("_"))

    @abstractmethod
    def state(self, step: Any) -> State:
        """Return what is written down of a fitted step, as `votron.saving.fields.packed` takes it."""

    @abstractmethod
    def build(self, fields: Fields, depth: int) -> Any:
        """Return the step that was written down, fitted; it stands within so many others."""

    def flow(self, step: Any, before: Flow) -> Flow:
        """Return what a fitted step gives, where it gets this, or refuse it; by default numbers for numbers."""
        return numbers_after(step, before)

    def held(self, step: Any) -> str:
        """Return what a column holds that meets this step first."""
        return self.holds

    def takes_texts(self, step: Any) -> bool:
        """Tell whether a column must hold texts that meets this step first."""
        return self.holds == "text"

    def text_columns(self, step: Any, n: int) -> list[bool | None]:
        """Tell the same of each of so many columns; None where nothing is known."""
        return [self.takes_texts(step)] * n


STEPS: dict[str, StoredStep] = {}
"""How each class is stored, by its name in a file."""


def stored(kind: type[StoredStep]) -> type[StoredStep]:
    """Make known how a class is stored: a decorator of classes derived from `StoredStep`.

    Examples
    --------
    >>> from votron.saving.steps.tables import MaxAbs
    >>> stored(MaxAbs) is MaxAbs
    True
    """
    made = kind()
    STEPS[made.name] = made
    return kind


def step_state(step: Any) -> State:
    """Return what is written down of a fitted transformer.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> step_state(Normalizer())
    {'class': 'Normalizer', 'params': {'copy': True, 'norm': 'l2'}}
    """
    step = unfrozen(step)
    kind = _kind_of(step)
    if kind is None:
        known = [each.name for each in STEPS.values() if each.listed]
        raise ModelFileError(
            f"A step before the classifier must be votron.tabular_encoder or one of {', '.join(known)} to be put into "
            f"a file. Got an object of type {type(step).__name__} instead."
        )
    return {"class": kind.name, **kind.state(step)}


def step_from(fields: Fields, depth: int = 0) -> Any:
    """Return the transformer that was written down, fitted.

    Examples
    --------
    >>> step_from(Fields({"class": "Normalizer", "params": {"norm": "l1"}}, {}, "step"))
    Normalizer(norm='l1')
    """
    if depth > _DEEPEST:
        raise fields.wrong("", "at most four encoders within one another", "more")
    name = fields.text("class")
    if name not in STEPS:
        raise fields.wrong("class", "an encoder that Votron knows", name)
    made = STEPS[name].build(fields, depth)
    fields.end()
    return made


def steps_state(steps: list[tuple[str, Any]]) -> list[State]:
    """Return what is written down of steps that have names.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> steps_state([("unit", Normalizer())])
    [{'name': 'unit', 'step': {'class': 'Normalizer', 'params': {'copy': True, 'norm': 'l2'}}}]
    """
    done = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]  # "passthrough"
    return [{"name": name, "step": step_state(step)} for name, step in done]


def steps_from(parts: list[Fields], depth: int = 0) -> list[tuple[str, Any]]:
    """Return the steps that were written down, with their names.

    Examples
    --------
    >>> step = {"class": "Normalizer", "params": {"norm": "l1"}}
    >>> steps_from([Fields({"name": "unit", "step": step}, {}, "steps.0")])
    [('unit', Normalizer(norm='l1'))]
    """
    found = []
    for each in parts:
        found.append((each.text("name"), step_from(each.part("step"), depth)))
        each.end()
    return found


# -- data on their way through steps ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow:
    """What goes from one step to the next.

    Attributes
    ----------
    kind : {"data", "table", "texts", "values", "numbers"}
        "data" is what users give to the first step: whatever it takes. "values" are columns that need not be numbers.
    width : int or None
        Number of columns or features, if it is known.
    sparse : bool or None
        Whether numbers come as a sparse matrix, if that is known.
    names : tuple of str, optional
        The columns of a table.

    Examples
    --------
    >>> print(Flow("numbers", 5, sparse=True))
    a sparse matrix of 5 columns
    """

    kind: str
    width: int | None = None
    sparse: bool | None = None
    names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        size = "" if self.width is None else f" of {self.width:,} columns"
        words = {"table": f"a table{size}", "values": f"values{size}"}
        return {"numbers": f"a {'sparse ' if self.sparse else ''}matrix{size}", **words}.get(self.kind, self.kind)


ANY_DATA = Flow("data")


def after(step: Any, before: Flow) -> Flow:
    """Return what a fitted step gives, where it gets this.

    Raises
    ------
    ModelFileError
        If it cannot take it.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> after(HashingVectorizer(n_features=64), ANY_DATA)
    Flow(kind='numbers', width=64, sparse=True, names=None)
    >>> after(HashingVectorizer(), Flow("numbers", 3))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The HashingVectorizer takes texts, and the step before it gives a matrix of 3 columns.
    """
    step = unfrozen(step)
    return kind_of(step).flow(step, before)


def check_fits(model: Any, before: Flow) -> None:
    """Refuse a classifier that cannot take what the last step gives.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> model = AveragedPerceptronClassifier().fit([[0, 1], [1, 0]], [0, 1])
    >>> check_fits(model, Flow("numbers", 3))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The AveragedPerceptronClassifier takes 2 features, and the step before it gives a
    matrix of 3 columns.
    """
    sparse = bool(model.__sklearn_tags__().input_tags.sparse) and not is_precomputed(getattr(model, "kernel_", None))
    if before.kind != ANY_DATA.kind:
        numbers_after(model, before, sparse=sparse)


def refused(step: Any, takes: str, before: Flow) -> ModelFileError:
    """Return the error of a step that gets what it does not take."""
    return ModelFileError(f"The {type(step).__name__} takes {takes}, and the step before it gives {before}.")


def numbers_after(step: Any, before: Flow, *, sparse: bool = True) -> Flow:
    """Return what a step gives that changes numbers and neither their places nor whether they are sparse."""
    width = getattr(step, "n_features_in_", None)
    if before.kind in ("texts", "values"):
        raise refused(step, "numbers", before)
    if None not in (width, before.width) and width != before.width:
        raise refused(step, f"{width:,} features", before)
    if before.sparse and not sparse:
        raise refused(step, "no sparse matrices", before)
    names = getattr(step, "feature_names_in_", None)
    if before.names is not None and names is not None and tuple(names) != before.names:
        raise ModelFileError(f"The {type(step).__name__} has other names of features than the table that it is given.")
    return Flow("numbers", before.width if width is None else width, before.sparse if sparse else False)


# -- what kinds of steps share ----------------------------------------------------------------------------------------


def unfrozen(step: Any) -> Any:
    """Return a step itself, where scikit-learn holds it fast."""
    while isinstance(step, FrozenEstimator):
        step = step.estimator
    return step


def first_of(step: Any) -> Any:
    """Return what data meet first in a step: the first one of a pipeline."""
    while isinstance(step, FrozenEstimator | Pipeline):
        step = step.estimator if isinstance(step, FrozenEstimator) else step.steps[0][1]
    return step


def kind_of(step: Any) -> StoredStep:
    """Return how a step is stored that stands in the table."""
    kind = _kind_of(step)
    assert kind is not None, type(step)
    return kind


def _kind_of(step: Any) -> StoredStep | None:
    return next((kind for kind in STEPS.values() if type(step) is kind.cls), None)


def names_state(step: Any) -> State:
    """Return number and names of features, as far as a step has them."""
    found: State = {}
    if hasattr(step, "n_features_in_"):
        found["n_features"] = int(step.n_features_in_)
    if hasattr(step, "feature_names_in_"):
        found["feature_names"] = [str(name) for name in step.feature_names_in_]
    return found


def named(fields: Fields, made: Any) -> Any:
    """Give a transformer the number and names of its features, where it had them."""
    if fields.has("n_features"):
        made.n_features_in_ = fields.count("n_features", 1)
        if fields.has("feature_names"):
            made.feature_names_in_ = np.array(fields.texts("feature_names", made.n_features_in_), dtype=object)
    return made
