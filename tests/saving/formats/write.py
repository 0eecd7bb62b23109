"""Writes a model file of each class in the current format, and what each must predict, for later versions to read.

Run once when the number of the format goes up: ``python tests/saving/formats/write.py``. Files that are there stay.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    WinnowClassifier,
    certify,
    save,
    tabular_encoder,
)
from votron.data import make_encoder
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel
from votron.saving.container import FORMAT

HERE = Path(__file__).parent


def models():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 9, size=(40, 5)).astype(np.uint8)
    y = np.arange(40) % 3
    X[np.arange(40), y] += 4
    binary, two = (X > 4).astype(np.uint8), (y > 0).astype(int)
    thin = sp.csr_matrix(X)
    names = np.array(["ape", "bee", "cat"])[y]
    voted = VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=2, gamma=1.0, random_state=0).fit(X, names)
    composed = PolynomialKernel(3).of(NormalizedKernel(LinearKernel()))
    yield "voted", voted, X
    yield "voted-holdout", VotedPerceptronClassifier("rbf", rule="holdout", random_state=0).fit(X * 0.5, two), X * 0.5
    yield "voted-sparse", VotedPerceptronClassifier(composed, margin=0.1, random_state=0).fit(thin.astype("f4"), y), X
    yield "averaged", AveragedPerceptronClassifier(random_state=0).fit(X, y), X
    yield "averaged-sparse", AveragedPerceptronClassifier(random_state=0).fit(thin, two == 1).sparsify(), X
    yield "adatron", KernelAdatronClassifier(degree=2, gamma=1.0, C=1.0).fit(X, y), X
    yield "winnow", WinnowClassifier(complement=True, random_state=0).fit(binary, y), binary
    yield "bayes", NaiveBayesLinearClassifier(binarize=4.0).fit(X, names), X
    yield "compact-vote", voted.compact(), X
    yield "compact-last", voted.with_rule("last", True).compact(), X
    yield "compact-linear", AveragedPerceptronClassifier(random_state=0).fit(X, two).compact(), X
    table = pl.DataFrame(
        {"sky": [*"abca"] * 10, "temp": X[:, 0] * 0.5, "windy": [True, False] * 20, "zip": [1, 2] * 20}
    )
    encoder = tabular_encoder(table, numeric="standard", discrete=["zip"])
    yield "table", make_pipeline(encoder, VotedPerceptronClassifier(random_state=0)).fit(table, names), table
    texts = ["rain and wind", "sun all day", "wind then rain", "a day of sun"]
    words = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), AveragedPerceptronClassifier(random_state=0))
    yield "text", words.fit(texts, [0, 1, 0, 1]), texts
    mails = pl.DataFrame({"a": [1.0, None, 2.5, 3.0], "b": [1, 2, 3, 4], "from": [*"xyxz"], "body": texts})
    for how, words in (("hashing", {"n_text_features": 64}), ("tfidf", {})):
        encoder = make_encoder(mails, text=["body"], text_features=how, missing="median", **words)
        model = make_pipeline(encoder, AveragedPerceptronClassifier(random_state=0))
        yield f"table-{how}", model.fit(mails, ["in", "out", "in", "out"]), mails


def main():
    path = HERE / "expected.json"
    expected = json.loads(path.read_text()) if path.exists() else {}
    for name, model, X in models():
        stem = f"format{FORMAT}-{name}"
        if (HERE / f"{stem}.votron").exists():
            continue
        rows = X[:8]
        plain = rows.to_dict(as_series=False) if isinstance(rows, pl.DataFrame) else np.asarray(rows).tolist()
        given = {"table" if isinstance(X, pl.DataFrame) else "text" if name == "text" else "rows": plain}
        certificate = certify(model, X, model.classes_[np.arange(40) % 3]) if name == "voted" else None
        save(
            model,
            HERE / f"{stem}.votron",
            provenance={"made by": "tests/saving/formats/write.py"},
            certificate=certificate,
        )
        scores = model.decision_function(rows).tolist()
        expected[stem] = {"format": FORMAT, **given, "labels": model.predict(rows).tolist(), "scores": scores}
    path.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
