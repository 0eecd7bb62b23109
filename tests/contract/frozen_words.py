"""Public names with their signatures, and one error of each kind, as lines of text."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import votron
from votron.cli import main

DAYS = "Outlook,Temp,Play\nRainy,55,no\nSunny,87,yes\nCloudy,75,yes\nRainy,60,no\nSunny,80,yes\nCloudy,70,no\n"


# -- names ------------------------------------------------------------------------------------------------------------


def public_modules() -> list[str]:
    """Return the modules of which no part of the name begins with an underscore."""
    found = ["votron", *(module.name for module in pkgutil.walk_packages(votron.__path__, "votron."))]
    return sorted(name for name in found if not any(part.startswith("_") for part in name.split(".")))


def names() -> Iterator[str]:
    """Yield a line for each public name, and for each public method of a class."""
    for module in public_modules():
        for name in sorted(getattr(importlib.import_module(module), "__all__", ())):
            value = getattr(importlib.import_module(module), name)
            yield f"{module}.{name}{_signature(value)}"
            if inspect.isclass(value):
                yield from (f"{module}.{name}.{method}" for method in _members(value))


def _members(cls: type) -> Iterator[str]:
    ours = [base for base in cls.__mro__ if base.__module__.startswith("votron.")]
    for name in sorted({name for base in ours for name in vars(base) if not name.startswith("_")}):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        # What scikit-learn's base classes add belongs to its version, not to ours.
        if inspect.isfunction(member) and member.__module__.startswith("votron."):
            yield f"{name}{_signature(member)}"
        elif isinstance(member, property | cached_property):
            yield name


def _signature(value: Any) -> str:
    """Return names, kinds and defaults of parameters; types are checked elsewhere."""
    if not (inspect.isclass(value) or inspect.isroutine(value)) or value.__module__ == "votron.errors":
        return ""
    parameters = inspect.signature(value).parameters.values()
    plain = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])
    return re.sub(r"<function (\S+) at 0x[0-9a-f]+>", r"\1", str(plain))


# -- errors -----------------------------------------------------------------------------------------------------------


def errors(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what was done, in ``folder``, and the sentence it ended in."""
    write_files(folder)
    for what, act in _calls().items():
        yield what, _sentence(act)
    for command in COMMANDS:
        yield f"$ votron {command}", _complaint(command.split())


def write_files(folder: Path) -> None:
    """Write the files that the commands speak of, and go there."""
    texts = {
        "days.csv": DAYS,
        "hole.csv": DAYS.replace("87", ""),
        "word.csv": DAYS.replace("75", "warm"),
        "short.csv": DAYS.replace("Sunny,80,yes", "Sunny,80"),
        "numbers.csv": "1,2,0\n3,4,1\n5,6,0\n",
        "quote.csv": DAYS.replace("Cloudy,75", '"Cloudy,75'),
        "empty.csv": "",
        "header.csv": "a,b,c\n",
        "bad.svm": "1 1:2 3:x\n-1 2:1\n",
        "falling.svm": "1 3:2 1:1\n-1 2:1\n",
        "one.csv": "a,b\n1,x\n2,x\n",
        "not.votron": "not a model",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    np.save(folder / "rows.npy", np.arange(12.0).reshape(4, 3))
    np.save(folder / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.savez(folder / "arrays.npz", X=np.arange(12.0).reshape(4, 3))
    (folder / "digits.idx").write_bytes(b"\0\0\x08\x03\0\0\0\x09\0\0\0\x02\0\0\0\x02" + bytes(7))
    (folder / "packed.csv.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + b"damaged")
    (folder / "folder").mkdir(exist_ok=True)
    model = votron.VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=2, random_state=0).fit(
        [[0.0, 1], [1, 0], [1, 1]], ["a", "b", "a"]
    )
    model.save(folder / "model.votron")
    content = (folder / "model.votron").read_bytes()
    (folder / "cut.votron").write_bytes(content[:-8])
    (folder / "changed.votron").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


COMMANDS = [
    "trian days.csv",
    "train",
    "train days.csv --no-such-option",
    "train days.csv --label Play --degree 0 -o m.votron",
    "train days.csv --label Play --degree two -o m.votron",
    "train days.csv --label Play --estimator forest -o m.votron",
    "train days.csv --label Play --rule best -o m.votron",
    "train days.csv --label Play -o no-such-folder/m.votron --format parquet",
    "train no-such.csv --label Play -o m.votron",
    "train days.csv --label Rain -o m.votron",
    "train days.csv -o m.votron",
    "train hole.csv --label Play -o m.votron",
    "train word.csv --label Play --discrete Tmp -o m.votron",
    "train short.csv --label Play -o m.votron",
    "train quote.csv --label Play -o m.votron",
    "train numbers.csv --label 2 -o m.votron",
    "train empty.csv --label Play -o m.votron",
    "train header.csv --label a -o m.votron",
    "train one.csv --label b -o m.votron",
    "train bad.svm -o m.votron",
    "train falling.svm -o m.votron",
    "train rows.npy --label 7 -o m.votron",
    "train objects.npy --label 0 -o m.votron",
    "train arrays.npz -o m.votron",
    "train digits.idx -o m.votron",
    "train packed.csv.gz --label Play -o m.votron",
    "train folder -o m.votron",
    "train days.csv --label Play --gamma -1 -o m.votron",
    "train days.csv --label Play --kernel precomputed -o m.votron",
    "predict no-such.votron days.csv",
    "predict not.votron days.csv",
    "predict cut.votron days.csv",
    "predict changed.votron days.csv",
    "predict model.votron days.csv",
    "predict model.votron rows.npy -o labels.csv",
    "evaluate model.votron days.csv",
    "certify model.votron days.csv --label Play",
    "certify model.votron days.csv --label Play --delta 2",
    "inspect days.csv",
    "inspect folder",
    "tune days.csv --label Play --folds 1",
    "compare days.csv --label Play --folds 4",
    "compare days.csv --label Play --estimator nobody",
    "data describe no-such.csv",
    "data convert days.csv days.xlsx",
    "data fetch digit",
    "export model.votron --onnx",
    "reproduce table9",
    "reproduce --permutations 0",
    "completion csh99",
]


def _complaint(arguments: list[str]) -> str:
    """Return the exit status of a command, and what it said on standard error."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status = main(arguments)
    return f"{status}: {_settled(err.getvalue().strip())}"


def _settled(text: str) -> str:
    """Return a sentence without what differs from run to run: this folder, addresses, and the order of sets."""
    text = re.sub(r" at 0x[0-9a-f]+", "", text.replace(str(Path.cwd()), "FOLDER"))
    return re.sub(r"{('[^{}]*')}", lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", text)


def _sentence(act: Callable[[], Any]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            act()
    except (votron.VotronError, ValueError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {_settled(str(error))}"
    return "no error"


def _calls() -> dict[str, Callable[[], Any]]:
    """Return calls of public names that are refused."""
    from votron.data import make_encoder, open_batches, read_examples
    from votron.kernels import GaussianKernel, PolynomialKernel
    from votron.theory import compression_bound, novikoff_bound

    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    voted, averaged = votron.VotedPerceptronClassifier, votron.AveragedPerceptronClassifier
    fitted = voted(random_state=0).fit(X, y)
    return {
        "a parameter out of range": lambda: voted(degree=-2).fit(X, y),
        "a parameter of another type": lambda: averaged(epochs="many").fit(X, y),
        "a kernel that is not known": lambda: voted("quartic").fit(X, y),
        "a rule that is not known": lambda: voted(rule="median").fit(X, y),
        "a rule that is not known, later": lambda: fitted.with_rule("median"),
        "one class": lambda: voted().fit(X, np.zeros(6)),
        "labels that are measurements": lambda: voted().fit(X, X[:, 0] + 0.5),
        "partial_fit with other classes": lambda: voted(gamma=1.0).partial_fit(X, y).partial_fit(X, y, classes=[0, 2]),
        "partial_fit with gamma='scale'": lambda: voted().partial_fit(X, y, classes=[0, 1]),
        "kernel values that overflow": lambda: voted(kernel="poly", degree=300, gamma=1.0).fit(1e9 * X, y),
        "a Gram matrix that is not square": lambda: voted("precomputed").fit(X, y),
        "a kernel that is not positive": lambda: voted("precomputed").fit(-np.eye(6), y),
        "conjunctions of numbers other than 0 and 1": lambda: voted("conjunction").fit(X, y),
        "Winnow on numbers other than 0 and 1": lambda: votron.WinnowClassifier().fit(X, y),
        "moments outside of training": lambda: list(fitted.staged_decision_function(X, at=[99])),
        "one row to explain": lambda: fitted.explain(X[0]),
        "memory that is none": lambda: voted(memory_limit="much").fit(X, y),
        "no threads": lambda: voted(n_jobs=0).fit(X, y),
        "gamma of a kernel": lambda: GaussianKernel(-1.0),
        "degree of a kernel": lambda: PolynomialKernel(0),
        "an example of another length": lambda: _second_example(),
        "a label of an on-line example": lambda: votron.OnlinePerceptron().update([1.0], 3),
        "a function in a model file": lambda: voted(lambda A, B: A @ B.T).fit(X, y).save("function.votron"),
        "no model file": lambda: votron.load("days.csv"),
        "a step that a model file cannot hold": lambda: votron.save(
            make_pipeline(PolynomialFeatures(), voted()).fit(X, y), "step.votron"
        ),
        "certify with other rows": lambda: votron.certify(fitted, X[::-1] + 1, y),
        "a delta of 0": lambda: votron.certify(fitted, X, y, delta=0),
        "a bound of a margin of 0": lambda: novikoff_bound(1.0, 0.0),
        "a bound of too large a support": lambda: compression_bound(10, 20, 0.05),
        "an unknown format": lambda: read_examples("days.csv", format="excel"),
        "an unknown way with missing values": lambda: read_examples("days.csv", label="Play", missing="guess"),
        "a label that is not there": lambda: read_examples("days.csv", label="Rain"),
        "batches of no rows": lambda: open_batches("days.csv", label="Play", batch_bytes=0),
        "an encoder of no table": lambda: make_encoder(X),
        "a record that is none": lambda: votron.MistakeRecord([0], [0], [2], [1], [0.0], [1.0], 1, 1, 1),
    }


def _second_example() -> None:
    learner = votron.OnlinePerceptron()
    learner.update([1.0, 2.0], 1)
    learner.update([1.0], -1)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, and on lines that are wide enough for every sentence."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
