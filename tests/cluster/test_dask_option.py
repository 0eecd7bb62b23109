"""``--dask`` at the command line, with clusters of processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import votron
from votron.cli import main

pytestmark = pytest.mark.slow
OPTIONS = ["--kernel", "poly", "--degree", "2", "--gamma", "1", "--margin", "0", "--random-state", "0", "--epochs", "2"]


@pytest.fixture
def address(cluster) -> str:
    return cluster[0].scheduler_address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    X, y = load_digits(return_X_y=True)
    table = np.column_stack([X, y])
    (tmp_path / "parts").mkdir()
    for k, part in enumerate(np.array_split(table, 3)):
        np.save(tmp_path / "parts" / f"{k}.npy", part)
    np.save(tmp_path / "whole.npy", table)
    return tmp_path


def test_parts_give_the_model_of_the_whole(folder, capsys):
    whole, parts = folder / "whole.votron", folder / "parts.votron"
    assert main(["train", str(folder / "whole.npy"), "--label", "-1", "-o", str(whole), *OPTIONS]) == 0
    assert main(["train", str(folder / "parts"), "--label", "-1", "-o", str(parts), *OPTIONS, "--dask", "local:2"]) == 0
    said = capsys.readouterr()
    assert "Dask cluster of 2 workers, dashboard at http" in " ".join(said.err.split())
    assert "1,797 rows, 64 features" in said.out
    assert votron.load(parts).record_.equals(votron.load(whole).record_)


def test_parquet_parts(address, folder, capsys):
    import polars

    X, y = load_digits(return_X_y=True)
    frame = polars.DataFrame(X, schema=[f"p{i}" for i in range(64)]).with_columns(digit=polars.Series(y))
    (folder / "tables").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(y)), 2)):
        frame[rows].write_parquet(folder / "tables" / f"{k}.parquet")
    frame.write_parquet(folder / "whole.parquet")
    read = ["--label", "digit", "--numeric", "keep"]
    whole, parts = folder / "whole.votron", folder / "tables.votron"
    assert main(["train", str(folder / "whole.parquet"), *read, "-o", str(whole), *OPTIONS]) == 0
    assert main(["train", str(folder / "tables"), *read, "-o", str(parts), *OPTIONS, "--dask", address]) == 0
    one, other = votron.load(whole), votron.load(parts)
    assert other[-1].record_.equals(one[-1].record_)
    assert main(["predict", str(parts), str(folder / "whole.parquet"), "-o", str(folder / "labels.csv")]) == 0
    capsys.readouterr()
    assert main(["train", str(folder / "tables"), "--label", "digit", "-o", str(parts), "--dask", address]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--dask takes tables with --numeric keep" in said
    assert "Dask cluster" not in said  # it is refused before there is one


def test_a_column_of_weights(address, folder, capsys):
    import polars

    X, y = load_digits(return_X_y=True)
    frame = polars.DataFrame(X[:, :40], schema=[f"p{i}" for i in range(40)])
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(y))
    frame = frame.with_columns(digit=polars.Series(y), heft=polars.Series(weights))
    (folder / "tables").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
        frame[rows].write_parquet(folder / "tables" / f"{k}.parquet")
    frame.write_parquet(folder / "whole.parquet")
    read = ["--label", "digit", "--numeric", "keep", "--sample-weight", "heft", *OPTIONS]
    whole, parts = folder / "whole.votron", folder / "tables.votron"
    assert main(["train", str(folder / "whole.parquet"), *read, "-o", str(whole)]) == 0
    assert main(["train", str(folder / "tables"), *read, "-o", str(parts), "--dask", address]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("of rows by heft") == 2
    assert votron.load(parts)[-1].record_.equals(votron.load(whole)[-1].record_)


def test_what_does_not_go_with_it(folder, capsys, monkeypatch):
    monkeypatch.setattr("votron.cli.large.ANSWERS_WITHIN", 0.5)
    parts = ["train", str(folder / "parts"), "--label", "-1", "-o", str(folder / "m.votron")]
    for more, told in {
        ("--dask", "local", "--stream"): "--stream",
        ("--dask", "local", "--missing", "mean"): "--missing must be",
        ("--dask", "local", "--test", "0.2"): "--test",
        ("--dask", "local", "--estimator", "winnow"): "--dask trains voted and averaged",
        ("--dask", "tcp://127.0.0.1:9"): "No Dask scheduler answers at tcp://127.0.0.1:9",
    }.items():
        assert main([*parts, *more]) != 0
        assert told in " ".join(capsys.readouterr().err.split())
    assert not (folder / "m.votron").exists()


def test_reproduce(address, tmp_path, capsys):
    what = ["reproduce", "table1", "--degrees", "2", "--permutations", "2", "--epochs", "0.5"]
    assert main([*what, "--out", str(tmp_path), "--dask", address]) == 0
    said = capsys.readouterr()
    assert "Dask cluster of 2 workers" in " ".join(said.err.split())
    assert "Report: " in said.out
    assert main([*what, "--out", str(tmp_path), "--dask", "local:2", "--jobs", "1"]) == 2
