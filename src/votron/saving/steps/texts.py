"""Steps that turn texts into numbers of words: scikit-learn's vectorizers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from votron.errors import ModelFileError, Parameter
from votron.saving.fields import Fields
from votron.saving.steps.base import Flow, State, StoredStep, refused, stored
from votron.saving.values import params_from, params_state

_MOST_HASHED = 1 << 26
"""Features that words may be hashed into."""
_LONGEST_NGRAM = 20
_LARGEST_IDF = 1e100
"""What no weight of a word reaches; those that scikit-learn computes stay below 50."""
_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")


class Vectorizer(StoredStep):
    """A class that takes texts and gives sparse numbers."""

    holds = "text"

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take texts."""
        if before.kind not in ("data", "texts") or before.width is not None:
            raise refused(step, "texts", before)
        return Flow("numbers", self.width(step), sparse=True)

    def width(self, step: Any) -> int:
        """Return how many features it gives."""
        return len(step.vocabulary_)


@stored
class Count(Vectorizer):
    """How often each word stands in a text."""

    cls = CountVectorizer

    def state(self, step: Any) -> State:
        """Return parameters and words."""
        return {"params": _params(step), "words": sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Give a vectorizer its words."""
        words = fields.texts("words")
        vocabulary = {word: i for i, word in enumerate(words)}
        if not words or len(vocabulary) < len(words):
            raise fields.wrong("words", "one or more words, each once", "others")
        params = fields.part("params")
        made = params_from(params, self.cls, leave_out=("dtype", "vocabulary"), vocabulary=vocabulary)
        _check_params(made)
        self.weigh(made, fields)
        made.vocabulary_, made.fixed_vocabulary_ = vocabulary, True
        return made

    def weigh(self, made: Any, fields: Fields) -> None:
        """Give it the weights of its words, where it has such."""


@stored
class Tfidf(Count):
    """The same, weighted by how few texts have a word."""

    cls = TfidfVectorizer

    def state(self, step: Any) -> State:
        """Return parameters, words and their weights."""
        idf = {"idf": np.asarray(step.idf_, dtype=np.float64)} if step.use_idf else {}
        return {**super().state(step), **idf}

    def weigh(self, made: Any, fields: Fields) -> None:
        """Give it the weights of its words."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what its parameters make it say was said when it was first fitted
            made.fit([""])  # a text of ours, without a word: the words are given, so there is nothing to learn
        if made.use_idf:
            made.idf_ = idf = np.array(fields.exactly("idf", "<f8", (len(made.vocabulary),)))
            if not (np.abs(idf) < _LARGEST_IDF).all():
                raise fields.wrong("idf", f"weights of words below {_LARGEST_IDF:g}", "others")


@stored
class Hashing(Vectorizer):
    """How often words of each hash stand in a text."""

    cls = HashingVectorizer

    def state(self, step: Any) -> State:
        """Return parameters; it learns nothing."""
        return {"params": _params(step)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it of its parameters."""
        made = params_from(fields.part("params"), self.cls, leave_out=("dtype",))
        _check_params(made)
        if made.n_features >= _MOST_HASHED:
            raise fields.wrong("params.n_features", f"below {_MOST_HASHED}", made.n_features)
        return made

    def width(self, step: Any) -> int:
        """Return how many features it gives."""
        return int(step.n_features)


# -- parameters -------------------------------------------------------------------------------------------------------


def _params(step: Any) -> State:
    """Return the parameters but for ``dtype``, which is a class, and the vocabulary."""
    if step.dtype is not type(step)().dtype:
        raise ModelFileError(f"A {type(step).__name__} in a model file must have the default 'dtype'.")
    _check_params(step)
    return params_state(step, leave_out=("dtype", "vocabulary"))


def _check_params(step: Any) -> None:
    """Refuse what would open files, and patterns and sizes that could keep whoever opens the model busy for ever."""
    read = {"input": "content", "encoding": "utf-8", "decode_error": "strict"}
    for name, value in read.items():
        if getattr(step, name) != value:
            raise ModelFileError(
                Parameter(name, of=f"a {type(step).__name__}", short=True),
                f" in a model file must be {value!r}. Got {getattr(step, name)!r} instead.",
            )
    if step.token_pattern not in _PATTERNS:
        raise ModelFileError(
            Parameter("token_pattern", of=f"a {type(step).__name__}", short=True),
            f" in a model file must be one of "
            f"{', '.join(map(repr, _PATTERNS))}, since a pattern from elsewhere may take for ever. "
            f"Got {step.token_pattern!r} instead.",
        )
    stop_words = step.stop_words or []
    if isinstance(stop_words, list) and not all(isinstance(word, str) for word in stop_words):
        raise ModelFileError(
            Parameter("stop_words", of=f"a {type(step).__name__}", short=True), " in a model file must be texts."
        )
    shortest, longest = step.ngram_range if len(step.ngram_range) == 2 else (0, 0)
    if not (type(shortest) is type(longest) is int and 1 <= shortest <= longest <= _LONGEST_NGRAM):
        raise ModelFileError(
            Parameter("ngram_range", of=f"a {type(step).__name__}", short=True),
            f" in a model file must lie between 1 and {_LONGEST_NGRAM}. Got {step.ngram_range!r} instead.",
        )
