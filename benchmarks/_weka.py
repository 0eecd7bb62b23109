"""Weka's VotedPerceptron (Debian package weka), run on the same examples through ARFF files."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

JAR = "/usr/share/java/weka.jar"


def missing() -> str | None:
    """Return a sentence where Weka cannot be run."""
    if shutil.which("java") is None or not Path(JAR).exists():
        return f"Weka is not installed ({JAR}, Debian package weka): left out."
    return None


def write_arff(path: Path, X: Any, y: Any) -> None:
    """Write integer features and two labels, 0 and 1."""
    head = [
        "@relation digits",
        *(f"@attribute p{i} numeric" for i in range(X.shape[1])),
        "@attribute label {0,1}",
        "@data",
    ]
    rows = (",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    path.write_text("\n".join([*head, *rows]) + "\n", encoding="ascii")


def voted_perceptron(X: Any, y: Any, X_test: Any, y_test: Any, degree: int = 4, epochs: int = 1) -> dict[str, Any]:
    """Train and test; return the error, the training time that Weka prints, the vectors, and the whole run's time.

    The whole run also starts Java, reads the files, and tests on the training data, which Weka does unasked.
    """
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.arff"), Path(folder, "test.arff")
        write_arff(train, X, y)
        write_arff(test, X_test, y_test)
        command = ["java", "-Xmx4g", "-cp", JAR, "weka.classifiers.functions.VotedPerceptron"]
        command += ["-t", str(train), "-T", str(test), "-I", str(epochs), "-E", str(degree), "-M", "1000000"]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
    return {**parse(done.stdout), "run s": seconds}


def parse(text: str) -> dict[str, Any]:
    """Read Weka's output."""
    return {
        "error %": float(re.findall(r"Incorrectly Classified Instances\s+\d+\s+([\d.]+) %", text)[-1]),
        "train s": float(re.findall(r"Time taken to build model: ([\d.]+) seconds", text)[0]),
        "vectors": int(re.findall(r"Number of perceptrons=(\d+)", text)[0]),
    }
