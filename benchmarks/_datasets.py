"""Public data sets of the benchmark of accuracy: where each comes from, and how it is read.

Nothing is downloaded. scikit-learn and river (in the extra "dev") carry some sets, `tests/data/tables` has some, some
are made; the classic ones of UCI come with Debian's packages r-cran-mlbench and r-cran-kernlab, and a text with its
package fortunes. What is not on a machine is named and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from votron.tables import TableEncoder

TABLES = Path(__file__).parents[1] / "tests" / "data" / "tables"
R_DATA = Path("/usr/lib/R/site-library")
FORTUNES = Path("/usr/share/games/fortunes")


@dataclass(frozen=True)
class Problem:
    """A data set: its name, where it comes from, and how it is loaded."""

    name: str
    source: str
    load: Callable[[], tuple[Any, Any]]
    """Returns rows (an array, a frame of pandas or a list of texts) and labels."""
    chosen_on: bool = False
    """True if the defaults of Votron's classifiers were chosen on it; on the others they were confirmed."""

    def rows(self, most: int) -> tuple[Any, Any]:
        """Return rows and labels, at most so many, in random order: folds of a search are not shuffled."""
        X, y = self.load()
        kept = np.random.RandomState(0).permutation(len(y))[:most]
        return taken(X, kept), np.asarray(y)[kept]


def taken(X: Any, kept: Any) -> Any:
    """Return some rows."""
    if isinstance(X, list):
        return [X[i] for i in kept]
    return X.iloc[kept] if hasattr(X, "iloc") else X[kept]


def encoder_for(X: Any) -> Any:
    """Return what makes vectors of rows: texts by tf-idf, tables and numbers standardised, holes filled in."""
    if isinstance(X, list):
        return TfidfVectorizer(sublinear_tf=True, min_df=2)
    return TableEncoder(missing="mean") if hasattr(X, "iloc") else StandardScaler()


# -- where they come from ---------------------------------------------------------------------------------------------


def problems() -> list[Problem]:
    """Return all data sets, whether they are on this machine or not."""
    return [
        _of_sklearn("iris"),
        _of_sklearn("wine", chosen_on=True),
        _of_sklearn("breast_cancer"),
        _of_sklearn("digits", chosen_on=True),
        _of_river("Bananas", chosen_on=True),
        _of_river("Phishing"),
        _of_river("ImageSegments"),
        _table("penguins", "Species", chosen_on=True),
        _table("seattle-weather", "weather", drop=["date"]),
        _table("birdstrikes", "Wildlife Size", drop=["Flight Date", "Airport Name", "Wildlife Species"]),
        _table("zipcodes", "state", drop=["zip_code", "city", "county"]),
        _of_r("Vowel", "Class", chosen_on=True),
        _of_r("Glass", "Type"),
        _of_r("Sonar", "Class", chosen_on=True),
        _of_r("Vehicle", "Class"),
        _of_r("Ionosphere", "Class"),
        _of_r("PimaIndiansDiabetes", "diabetes", chosen_on=True),
        _of_r("Satellite", "classes", chosen_on=True),
        _of_r("LetterRecognition", "lettr"),
        _of_r("DNA", "Class"),
        _of_r("Soybean", "Class"),
        _of_r("spam", "type", package="kernlab", chosen_on=True),
        Problem("fortunes", "Debian: fortunes, the six largest files", _fortunes),
        _made("noisy 10 %", flip_y=0.2, chosen_on=True),
        _made("noisy 30 %", flip_y=0.6),
        _made("rare class", weights=[0.93], flip_y=0.05, class_sep=0.8),
    ]


def _of_sklearn(name: str, **more: Any) -> Problem:
    load = getattr(sklearn.datasets, f"load_{name}")
    return Problem(name.replace("_", " "), "scikit-learn", lambda: load(return_X_y=True), **more)


def _made(name: str, chosen_on: bool = False, **how: Any) -> Problem:
    def load() -> tuple[Any, Any]:
        return sklearn.datasets.make_classification(4000, 30, n_informative=10, random_state=0, **how)

    return Problem(name, "made by scikit-learn's make_classification", load, chosen_on)


def _of_river(name: str, **more: Any) -> Problem:
    def load() -> tuple[Any, Any]:
        import pandas as pd
        import river.datasets

        pairs = list(getattr(river.datasets, name)())
        return pd.DataFrame([row for row, _ in pairs]).astype(float).to_numpy(), [str(label) for _, label in pairs]

    return Problem(name.lower(), "river", load, **more)


def _table(name: str, label: str, drop: Any = (), **more: Any) -> Problem:
    def load() -> tuple[Any, Any]:
        import pandas as pd

        frame = pd.read_csv(TABLES / f"{name}.csv").drop(columns=list(drop))
        return frame, frame.pop(label).to_numpy(dtype=str)

    return Problem(name, "vega-datasets, see tests/data/tables", load, **more)


def _of_r(name: str, label: str, package: str = "mlbench", **more: Any) -> Problem:
    def load() -> tuple[Any, Any]:
        import rdata

        (frame,) = rdata.read_rda(R_DATA / package / "data" / f"{name}.rda").values()
        frame.columns = [str(name) for name in frame.columns]
        y = frame.pop(label).to_numpy(dtype=str)
        for column in frame.columns[frame.dtypes == "category"]:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), "?").astype(str)
        return frame, y

    return Problem(name.lower(), f"Debian: r-cran-{package}", load, **more)


def _fortunes() -> tuple[Any, Any]:
    files = [path for path in FORTUNES.iterdir() if not path.suffix and path.is_file() and not path.is_symlink()]
    texts = {path.name: path.read_text(encoding="utf-8", errors="replace").split("\n%\n") for path in files}
    largest = sorted(texts, key=lambda name: (-len(texts[name]), name))[:6]
    return [text for name in largest for text in texts[name]], [name for name in largest for _ in texts[name]]
