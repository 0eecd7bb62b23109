"""The perceptron game, its figure and its page."""

import doctest
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import thorough

from votron._util.plotting import pyplot
from votron.papers import game as module
from votron.papers.game import ACROSS, TARGET, U, main, play, sample, some, summary, table

ORDERS = st.sampled_from(["worst", "random"])
MARGINS = st.floats(0.02, 0.9)
SEEDS = st.integers(0, 2**31 - 1)
ROUNDING = 1e-12


def textbook(X, y, order, n_rounds):
    """The game as one would play it by hand: rounds as (example, mistake, guess after it)."""
    v, rounds, turn, clean = (0.0, 0.0), [], 0, 0
    while len(rounds) < n_rounds:
        after = [(v[0] + s * a, v[1] + s * b) for (a, b), s in zip(X, y, strict=True)]
        wrong = [i for i, ((a, b), s) in enumerate(zip(X, y, strict=True)) if s * (v[0] * a + v[1] * b) <= 0]
        if order == "worst":
            if not wrong:
                break
            i = min(wrong, key=lambda i: (after[i][0] * 0.6 + after[i][1] * 0.8) / math.hypot(*after[i]))
        else:
            i, turn = turn % len(X), turn + 1
            if i == 0:
                if turn > 1 and clean == len(X):
                    break
                clean = 0
        mistake = i in wrong
        clean += not mistake
        v = after[i] if mistake else v
        rounds.append((i, mistake, v))
    return rounds


# -- the game ---------------------------------------------------------------------------------------------------------


@thorough(60)
@given(st.integers(1, 300), MARGINS, SEEDS)
def test_player_a_keeps_to_the_rules(n, margin, seed):
    X, y = sample(n, margin, seed)
    assert X.shape == (n, 2)
    assert set(y) <= {1, -1}
    assert (y * (X @ U) > margin).all()
    assert (np.linalg.norm(X, axis=1) < 1).all()
    assert np.array_equal(X, sample(n, margin, seed)[0])
    assert np.linalg.norm(U) == pytest.approx(1, abs=1e-15)
    assert abs(U @ ACROSS) < 1e-15
    assert TARGET[0] * U[1] == pytest.approx(TARGET[1] * U[0])


@thorough(60)
@given(st.integers(1, 200), MARGINS, SEEDS, ORDERS)
def test_the_lemmas_and_the_theorem(n, margin, seed, order):
    game = play(n, margin, seed=seed, order=order)
    assert 1 <= len(game.mistakes) <= game.bound == pytest.approx(1 / margin**2)
    assert [r.k for r in game.mistakes] == list(range(1, len(game.mistakes) + 1))
    for k, r in enumerate(game.mistakes, 1):
        v, along, length = r.v, r.v_dot_u, math.sqrt(r.norm2)
        assert along == pytest.approx(float(v @ U), rel=1e-9)
        assert length == pytest.approx(math.hypot(*v), rel=1e-9)
        assert k * margin <= along * (1 + ROUNDING)
        assert along <= length * (1 + ROUNDING)
        assert length <= math.sqrt(k) * (1 + ROUNDING)
        assert r.margin > margin  # as the learner saw it
        assert k <= r.mistake_bound <= game.bound
    for before, after in pairwise(game.mistakes):
        assert np.array_equal(after.v, before.v + after.y * after.x)


@thorough(40)
@given(st.integers(1, 60), MARGINS, SEEDS, ORDERS, st.sampled_from([1, 5, 10_000]))
def test_the_game_by_hand(n, margin, seed, order, n_rounds):
    game = play(n, margin, seed=seed, order=order, n_rounds=n_rounds)
    expected = textbook(game.X.tolist(), game.y.tolist(), order, n_rounds)
    assert len(game.rounds) == len(expected) <= n_rounds
    for r, (i, mistake, v) in zip(game.rounds, expected, strict=True):
        assert np.array_equal(r.x, game.X[i])
        assert r.y == game.y[i]
        assert r.mistake is mistake
        assert r.v == pytest.approx(v, abs=1e-12)
    right = game.y * (game.X @ np.array(expected[-1][2])) > 0
    assert game.over == right.all()
    if n_rounds == 10_000:
        assert game.over


def test_a_player_who_chooses_makes_more_mistakes():
    worst, random = ([len(play(200, 0.1, seed=s, order=o).mistakes) for s in range(20)] for o in ("worst", "random"))
    assert sum(worst) > 2 * sum(random)


@given(st.integers(1, 500), st.integers(2, 40))
def test_some_are_spread_evenly(n, at_most):
    found = some(n, at_most)
    assert len(found) == min(n, at_most)
    assert (found[0], found[-1]) == (1, n)
    steps = [b - a for a, b in pairwise(found)]
    assert max(steps, default=1) - min(steps, default=1) <= 1


# -- the table and the figure -----------------------------------------------------------------------------------------


def test_the_table_says_what_was_played():
    game = play(2000, 0.03, seed=0)
    lines = table(game).splitlines()
    assert lines[0].split() == ["k", "round", "kγ", "v·u", "‖v‖", "√k", "R"]
    assert len(lines) == 1 + module.AT_MOST_ROWS < len(game.mistakes)
    for line in lines[1:]:
        k, t, lower, along, length, upper = map(float, line.split())
        r = game.mistakes[int(k) - 1]
        assert (r.k, r.t) == (k, t)
        assert lower <= along <= length <= upper
        assert (along, length) == (pytest.approx(r.v_dot_u, abs=5e-4), pytest.approx(math.hypot(*r.v), abs=5e-4))
    assert int(lines[-1].split()[0]) == len(game.mistakes)


def test_the_summary():
    assert summary(play(1, 0.5)) == "1 mistake in 1 round, at most 4 by the theorem; B gets every example right."
    stopped = play(300, 0.01, n_rounds=2)
    assert (
        summary(stopped) == "2 mistakes in 2 rounds, at most 1e+04 by the theorem; "
        "stopped, and B would still get examples wrong."
    )


@pytest.mark.parametrize("how", [(300, 0.2), (2000, 0.03), (1, 0.9)])
def test_the_figure_shows_the_game(how):
    game = play(*how)
    figure = module.draw(game)
    try:
        plane, proof = figure.axes
        drawn = np.concatenate([points.get_offsets() for points in plane.collections])
        assert sorted(drawn.tolist()) == sorted(game.X.tolist())
        trace = [line.get_xydata() for line in plane.get_lines()]
        assert any(np.array_equal(line, [r.v for r in game.mistakes]) for line in trace)
        curves = [line.get_xydata() for line in proof.get_lines()]
        for values in ([r.v_dot_u for r in game.mistakes], [math.sqrt(r.norm2) for r in game.mistakes]):
            expected = np.c_[range(len(values) + 1), [0.0, *values]]
            assert any(np.allclose(line, expected) for line in curves if line.shape == expected.shape)
        k = np.linspace(0, 1.12 * game.bound, 400)
        for bound in (game.margin * k, np.sqrt(k)):
            assert any(np.allclose(line, np.c_[k, bound]) for line in curves if len(line) == 400)
        assert any(np.allclose(line, [[game.bound, 1 / game.margin]]) for line in curves if len(line) == 1)
        names = {text.get_text() for text in plane.texts}
        assert {"u", "γ", "R", "$v_{1}$", f"$v_{{{len(game.mistakes)}}}$"} <= names
    finally:
        pyplot().close(figure)


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_writes_the_same_files_twice(tmp_path, capsys):
    options = ["--examples", "50", "--margin", "0.1", "--seed", "7", "--order", "random", "--rounds", "120"]
    for name in ("one", "two"):
        assert main([*options, "--out", str(tmp_path / "new" / name)]) == 0
    one, two = (tmp_path / "new" / "one", tmp_path / "new" / "two")
    for suffix in (".svg", ".png"):
        assert one.with_suffix(suffix).read_bytes() == two.with_suffix(suffix).read_bytes()
    assert one.with_suffix(".svg").read_text(encoding="utf-8").startswith("<?xml")
    assert one.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    game = play(50, 0.1, seed=7, order="random", n_rounds=120)
    files = [str(path.with_suffix(suffix)) for path in (one, two) for suffix in (".svg", ".png")]
    played = [*table(game).splitlines(), summary(game)]
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [*played, *files[:2], *played, *files[2:]]
    assert printed.err == ""


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--margin", "0", "must be a number in the range [0.01, 0.9], as R is 1. Got '0' instead."),
        ("--margin", "1", "must be a number in the range [0.01, 0.9], as R is 1. Got '1' instead."),
        ("--margin", "nan", "must be a number in the range [0.01, 0.9], as R is 1. Got 'nan' instead."),
        ("--margin", "wide", "must be a number in the range [0.01, 0.9], as R is 1. Got 'wide' instead."),
        ("--examples", "0", "must be an int in the range [1, inf). Got '0' instead."),
        ("--rounds", "2.5", "must be an int in the range [1, inf). Got '2.5' instead."),
        ("--seed", "-1", "must be an int in the range [0, 2^31). Got '-1' instead."),
        ("--order", "best", "invalid choice: 'best'"),
        ("--example", "5", "unrecognized arguments: --example=5"),
    ],
)
def test_options_out_of_range(option, value, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([f"{option}={value}", "--out", str(tmp_path / "figure")])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    pyplot().close("all")  # what other tests looked at
    assert main(["--examples", "5", "--out", str(tmp_path / "file" / "figure")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert pyplot().get_fignums() == []


@pytest.mark.slow
def test_without_matplotlib_it_is_a_sentence():
    ask = "import sys; sys.modules['matplotlib'] = None; from votron.papers import game; sys.exit(game.main([]))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, 'Drawing needs matplotlib: pip install "votron[plot]".\n')
    assert done.stdout == ""


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_says_what_comes_out(capsys, tmp_path):
    """Its examples as they stand, and its table and figure as the command makes them."""
    docs = Path(__file__).parents[2] / "docs"
    failed, attempted = doctest.testfile(str(docs / "online.md"), module_relative=False, encoding="utf-8")
    assert failed == 0
    assert attempted > 20
    assert main(["--out", str(tmp_path / "game")]) == 0
    printed = capsys.readouterr().out.split("\n" + str(tmp_path))[0]
    page = (docs / "online.md").read_text(encoding="utf-8")
    assert "\n".join(f"    {line}" for line in printed.splitlines()) in page
    assert len(play(300, 0.2).mistakes) == 9
    assert "nine arrows" in page
    assert "](game.svg)" in page
    for name in ("game.svg", "game.png"):  # not the bytes: another version of matplotlib may draw otherwise
        assert (docs / name).stat().st_size == pytest.approx((tmp_path / name).stat().st_size, rel=0.2)
