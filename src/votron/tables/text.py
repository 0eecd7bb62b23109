"""Text columns: tf-idf or hashed words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from votron._util.frames import kind_of, objects_of
from votron._util.types import Floats, Rows, Series
from votron.errors import DataError, VotronError
from votron.tables.column import Column, Survey, refusal

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

FEATURES = ("auto", "hashing", "tfidf")
MOST_WORDS = 2**17
"""Distinct words up to which "auto" chooses tf-idf."""
MOST_HASHED = 2**26
"""Largest ``n_text_features``."""


@dataclass
class TextColumn(Column):
    """Text whose words are features; the vectors have unit length and are non-negative."""

    n_features: int
    """Number of features that words are hashed to; 0 for tf-idf."""
    words: tuple[str, ...] = ()
    idf: Floats = field(default_factory=lambda: np.empty(0))
    """The words that have a feature, sorted, and their inverse document frequencies."""

    holds: ClassVar[str] = "text"
    few_set: ClassVar[bool] = True

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept the columns in ``text``."""
        if survey.kind != "words":
            return None
        features, hashed = encoder.text_features, cls(survey.name, n_features=encoder.n_text_features)
        if features == "hashing" or (features == "auto" and not survey.whole):
            return hashed
        if not survey.whole:
            raise VotronError("text_features='tfidf' needs all rows at once, and these come in batches: use 'hashing'.")
        try:
            vectorizer = TfidfVectorizer().fit(survey.texts)
        except ValueError as error:  # no text has a word
            raise DataError(f"The column {survey.name!r} has no word in any row: leave it out.") from error
        words = tuple(vectorizer.get_feature_names_out().tolist())
        if features == "auto" and len(words) > MOST_WORDS:
            return hashed
        return cls(survey.name, n_features=0, words=words, idf=vectorizer.idf_)

    @cached_property
    def vectorizer(self) -> HashingVectorizer | TfidfVectorizer:
        """The vectorizer with these words and weights."""
        if self.n_features:
            return HashingVectorizer(n_features=self.n_features, alternate_sign=False)
        found = TfidfVectorizer(vocabulary={word: i for i, word in enumerate(self.words)})
        found.idf_ = self.idf
        return found

    @property
    def own_names(self) -> list[str]:
        if self.n_features:
            return [f"{self.name}[{i}]" for i in range(self.n_features)]
        return [f"{self.name}: {word}" for word in self.words]

    @property
    def width(self) -> int:
        return (self.n_features or len(self.words)) + self.indicator

    def check(self) -> None:
        known = set(self.words)
        fits = len(known) == len(self.words) == len(self.idf) and all(isinstance(word, str) for word in known)
        if not fits or not 0 <= self.n_features <= MOST_HASHED or bool(self.n_features) == bool(known):
            raise ValueError("its words and weights do not fit together.")

    def read(self, column: Series) -> list[str | None]:
        if kind_of(column) not in ("text", "nothing"):
            raise refusal(column, self.name, "texts, as in training")
        return objects_of(column)

    def features(self, values: list[str | None]) -> Rows:
        return self.vectorizer.transform([text or "" for text in values])

    def unseen(self, column: Series) -> Iterable[str]:
        analyze, known = self.vectorizer.build_analyzer(), set(self.words)
        texts = self.read(column) if known else []
        return (word for text in texts for word in analyze(text or "") if word not in known)

    @property
    def remark(self) -> str:
        if self.n_features:
            return f"text, its words hashed to {self.n_features:,} features"
        return f"text with {len(self.words):,} words"

    def words_in(self, column: Series) -> dict[int, str]:
        """Map hashed features to the words in the column."""
        return hashed_words(self.vectorizer, filter(None, self.read(column))) if self.n_features else {}


def hashed_words(vectorizer: HashingVectorizer, texts: Iterable[str]) -> dict[int, str]:
    """Map each feature to the words in the texts that are hashed to it."""
    analyze = vectorizer.build_analyzer()
    words = sorted({word for text in texts for word in analyze(text)})
    alone = HashingVectorizer(n_features=vectorizer.n_features, alternate_sign=False, analyzer=lambda word: [word])
    found: dict[int, list[str]] = {}
    for word, feature in zip(words, alone.transform(words).indices.tolist() if words else (), strict=True):
        found.setdefault(feature, []).append(word)
    return {feature: "/".join(mine) for feature, mine in found.items()}
