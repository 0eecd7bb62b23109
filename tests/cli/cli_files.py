"""Files that the tests of the command line work on, and a way to run commands."""

import json
import os
import subprocess
import sys

import numpy as np

from votron.cli import main

DAYS = """\
Outlook,Temp,Windy,Play
Rainy,55,True,no
Sunny,87,False,yes
Cloudy,75,False,yes
Rainy,60,False,no
Sunny,80,True,yes
Cloudy,70,True,no
Sunny,65,False,yes
Rainy,58,True,no
Cloudy,72,False,yes
Sunny,90,False,yes
Rainy,62,True,no
Cloudy,68,True,no
"""
TOPICS = {
    "weather": ["rain and wind today", "sun all day", "snow and more snow", "wind, then rain", "a day of sun"],
    "sport": ["they won the game", "a goal in the last game", "the team lost", "the team won", "goal after goal"],
}


def write_files(folder):
    """Write the data of the examples in the help texts."""
    (folder / "days.csv").write_text(DAYS, encoding="utf-8")
    texts = "".join(f'"{text}",{topic}\n' for topic, texts in TOPICS.items() for text in texts)
    (folder / "text.csv").write_text(f"words,topic\n{texts}", encoding="utf-8")
    (folder / "large.svm").write_text(svmlight(300, 20), encoding="utf-8")
    (folder / "parts").mkdir(exist_ok=True)
    rows = np.random.RandomState(0).randint(0, 9, (120, 6))
    rows[:, -1] = rows[:, 0] > rows[:, 1]  # the label
    for k, part in enumerate(np.array_split(rows, 3)):
        np.save(folder / "parts" / f"{k}.npy", part)


def svmlight(n_rows, n_features, seed=0):
    """Return data that a plane separates, as text."""
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 4, (n_rows, n_features))
    y = np.where(X[:, :5].sum(axis=1) > 7, 1, -1)
    rows = (" ".join(f"{j + 1}:{value}" for j, value in enumerate(row) if value) for row in X)
    return "".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True))


def votron(*arguments, cwd=None, input=None, env=None, timeout=120):
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "votron", *map(str, arguments)],
        cwd=cwd,
        input=input,
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=timeout,
        check=False,
    )


def run(capsys, *arguments, status=0):
    """Run a command; return what it printed."""
    capsys.readouterr()
    found = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    assert found == status, said.err
    return said


def run_json(capsys, *arguments):
    """Run a command; return its JSON."""
    return json.loads(run(capsys, *arguments, "--json", "--quiet").out)
