"""Documents that look like text: word frequencies by Zipf's law, topics, lengths that vary, tf-idf weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer


def zipf_documents(
    n_documents: int, n_features: int, n_classes: int, *, seed: int = 0, mean_length: int = 150, noise: float = 0.05
) -> tuple[Any, Any]:
    """Return a CSR matrix of tf-idf rows of length 1, and labels.

    A word comes from the language, whose k-th word has a frequency proportional to 1 / (k + 2.7)^1.1
    (Zipf-Mandelbrot), or from the document's topic, which has the same law with the words in an order of its own. How
    much of a document is on its topic varies, and some labels are wrong.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(1, n_features + 1) + 2.7) ** 1.1
    frequency /= frequency.sum()
    topics = np.stack([rng.permutation(n_features) for _ in range(n_classes)])
    y = rng.integers(0, n_classes, n_documents)
    length = np.maximum(8, rng.lognormal(np.log(mean_length), 0.6, n_documents)).astype(np.int64)
    document = np.repeat(np.arange(n_documents), length)
    rank = rng.choice(n_features, size=len(document), p=frequency)
    on_topic = rng.random(len(document)) < rng.beta(1.2, 8.0, n_documents)[document]
    word = np.where(on_topic, topics[y[document], rank], rank)
    counts = sp.csr_matrix(
        (np.ones(len(word)), (document, word)), shape=(n_documents, n_features)
    )  # equal entries are added up
    wrong = rng.random(n_documents) < noise
    y[wrong] = rng.integers(0, n_classes, int(wrong.sum()))
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    X.sort_indices()
    return X, y
