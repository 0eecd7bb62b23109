"""Sparsity and margins, shown on data: the three experiments of docs/sparsity.md, their figures and their page."""

import itertools
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_perceptron
from strategies import thorough

from votron._util.plotting import pyplot
from votron.papers import attained_margin, parallel_lines, permutations
from votron.papers._one_vs_rest import images, problem
from votron.papers.parallel_lines import COLUMNS, HALF, lines, perceptron
from votron.theory import compression_bound, margins

DOCS = Path(__file__).parents[2] / "docs"
SEEDS = st.integers(0, 2**31 - 1)
EXPERIMENTS = {
    parallel_lines: ["--sizes", "6", "30", "--permutations", "3"],
    permutations: ["--label", "0", "--permutations", "4"],
    attained_margin: ["--label", "0", "--permutations", "2", "--taus", "0", "0.5", "2"],
}


def textbook(signed):
    """The perceptron on examples times labels, over and over until a pass makes no mistake: its mistakes."""
    v, mistakes, before = [0.0] * len(signed[0]), [], -1
    while len(mistakes) > before:
        before = len(mistakes)
        for i, z in enumerate(signed):
            if sum(a * b for a, b in zip(v, z, strict=True)) <= 0:
                v = [a + b for a, b in zip(v, z, strict=True)]
                mistakes.append(i)
    return mistakes


# -- two parallel lines -----------------------------------------------------------------------------------------------


@thorough(60)
@given(st.integers(4, 60), SEEDS, SEEDS)
def test_two_mistakes_at_most_and_four_with_a_threshold(n, seed, order):
    X, y = lines(n, seed, order)
    signed = y[:, None] * X
    for model, rows, most in (
        (perceptron(X, y), signed, 2),
        (perceptron(X, y, threshold=True), np.c_[signed, y], 4),
    ):
        mistakes = textbook(rows.tolist())
        assert model.record_.example.tolist() == mistakes
        assert model.support_.tolist() == list(dict.fromkeys(mistakes))
        assert len(mistakes) <= most


def test_every_order_of_the_ends():
    """Both bounds are reached: in the ends times √2, with √2 for the constant, which floats hold exactly."""
    X = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    y = np.array([-1, -1, 1, 1])
    found = []
    for order in map(list, itertools.permutations(range(4))):
        for constant in (0.0, 2.0):
            model = paper_perceptron(
                kernel="poly", margin=0.0, degree=1, gamma=1.0, coef0=constant, epochs=None, shuffle=False, rule="last"
            ).fit(X[order], y[order])
            assert (model.predict(X) == y).all()
            found.append((constant, int(model.n_mistakes_[0])))
    assert {k for constant, k in found if constant == 0} == {2}
    assert {k for constant, k in found if constant} == {2, 4}


@thorough(40)
@given(st.integers(5, 60), SEEDS, SEEDS)
def test_one_mistake_unless_an_end_comes_first(n, seed, order):
    X, y = lines(n, seed, order)
    ends = np.abs(X[:, 0]) == HALF
    assert ends.sum() == 4
    assert int(perceptron(X, y).n_mistakes_[0]) == (2 if ends[0] else 1)


def test_a_line_nearer_to_the_origin_breaks_the_footnote():
    """The lines are √2 apart and in the unit ball, but the origin is not half-way: three mistakes."""
    near = 0.45
    along = (1 - near**2) ** 0.5
    X = np.array([[along, near], [-0.228, near], [-along, near], [0.0, near - 2**0.5]])
    assert (np.linalg.norm(X, axis=1) <= 1 + 1e-12).all()
    model = perceptron(X, np.array([1, 1, 1, -1]))
    assert model.record_.example.tolist()[:3] == [0, 1, 2]
    assert len(model.support_) == 3


@thorough(25)
@given(st.integers(4, 120), SEEDS, SEEDS)
def test_every_example_is_on_the_margin(n, seed, order):
    X, y = lines(n, seed, order)
    found = dict(zip(COLUMNS, parallel_lines.counts_of(X, y), strict=True))
    assert found["adatron margin"] == found["SVC margin"] == n
    for name in ("adatron α ≠ 0", "SVC α ≠ 0"):
        assert 2 <= found[name] <= n
    assert found["support"] <= found["mistakes"] <= 2
    assert found["support, threshold"] <= found["mistakes, threshold"] <= 4


def test_the_counts_of_many_permutations():
    sizes = (8, 50, 400)
    counts = parallel_lines.measure(sizes, seed=5, permutations=6)
    for j, n in enumerate(sizes):
        for i in range(6):
            one = parallel_lines.counts_of(*lines(n, 5, order=5 + i))
            assert [int(counts.found[name][i, j]) for name in COLUMNS] == one
    drawn = counts.drawn
    assert len(drawn.X) == 8
    assert (drawn.y * (drawn.X @ drawn.v) > 0).all()
    assert drawn.v == pytest.approx(
        (drawn.y[:, None] * drawn.X)[textbook((drawn.y[:, None] * drawn.X).tolist())].sum(0)
    )
    rows = [line.strip("| ").split(" | ") for line in parallel_lines.table(counts).splitlines()]
    assert rows[0] == ["examples", *COLUMNS]
    assert [row[0] for row in rows[2:]] == ["8", "50", "400", "bound (R/γ)²"]
    assert rows[-1][1:5] == ["2", "2", "4", "4"]
    for row, n in zip(rows[2:5], sizes, strict=True):
        assert (row[6], row[8]) == (str(n), str(n))


def test_the_figure_of_the_lines():
    counts = parallel_lines.measure((10, 40), seed=0, permutations=3)
    figure = parallel_lines.draw(counts)
    try:
        plane, right = figure.axes
        plus, minus, ringed, filled = (points.get_offsets().tolist() for points in plane.collections)
        assert sorted(plus + minus) == sorted(ringed) == sorted(counts.drawn.X.tolist())
        assert filled == counts.drawn.X[counts.drawn.support].tolist()
        ends = [line.get_xydata() for line in plane.get_lines()]
        assert any(np.allclose(line @ counts.drawn.v, 0) and not np.allclose(line, 0) for line in ends)
        curves = [line.get_ydata().tolist() for line in right.get_lines()]
        for name in ("support", "SVC margin", "SVC α ≠ 0", "adatron α ≠ 0"):
            assert counts.found[name].mean(0).tolist() in curves
        assert any(np.allclose(curve, 2) for curve in curves)
    finally:
        pyplot().close(figure)


# -- permutations -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spread():
    return permutations.measure(problem(8), "digits", degree=4, seeds=range(20))


@pytest.mark.slow
def test_each_permutation_is_consistent(spread):
    X, y, X_test, y_test = problem(8)
    for seed in (0, 7, 19):
        model = paper_perceptron(
            kernel="poly", margin=0.0, degree=4, gamma=1.0, epochs=None, random_state=seed, rule="last"
        ).fit(X, y)
        one = spread.perceptrons[seed]
        assert (model.predict(X) == y).all()
        assert np.flatnonzero(one.support).tolist() == sorted(model.support_.tolist())
        assert one.error == pytest.approx(100 * (1 - model.score(X_test, y_test)))
        assert one.mistakes == model.n_mistakes_[0]
        assert one.bound == pytest.approx(100 * compression_bound(1200, len(model.support_), 0.05))
        assert one.error < one.bound < 100
    assert spread.svm.error < spread.svm.bound


def test_supports_overlap_in_part(spread):
    sets = [frozenset(np.flatnonzero(one.support).tolist()) for one in spread.perceptrons]
    assert len(set(sets)) == len(sets)
    assert all(len(a) < spread.svm.support.sum() for a in sets)
    always, ever = frozenset.intersection(*sets), frozenset.union(*sets)
    assert 0 < len(always) < min(map(len, sets)) < max(map(len, sets)) < len(ever) < 1200
    pairs = list(itertools.combinations(sets, 2))
    expected = np.mean([len(a & b) / len(a | b) for a, b in pairs])
    assert spread.jaccard == pytest.approx(expected)
    assert 3 * spread.jaccard_by_chance < spread.jaccard < 0.5
    assert (spread.occurrences == [sum(i in one for one in sets) for i in range(1200)]).all()
    text = permutations.overlap(spread)
    for row, value in (("in some support", len(ever)), ("in every support", len(always)), ("different supports", 20)):
        assert f"| {row} | {value} |" in text


def test_the_overlap_of_random_supports_is_that_of_chance():
    rng = np.random.default_rng(0)
    nobody = np.zeros(1, dtype=bool)
    made = [permutations.Machine(rng.permutation(np.arange(2000) < 300), nobody, 0) for _ in range(30)]
    spread = permutations.Spread("random", tuple(made), None)
    assert spread.jaccard == pytest.approx(spread.jaccard_by_chance, rel=0.02)
    for _, _, n, chance in permutations.bins(spread):
        assert n == pytest.approx(chance, abs=6 * chance**0.5 + 3)


def test_the_agreement_is_that_of_the_predictions(spread):
    wrong = [one.wrong for one in spread.perceptrons]
    expected = np.mean([np.mean(a == b) for a, b in itertools.combinations(wrong, 2)])
    assert spread.agreement == pytest.approx(100 * expected)
    assert 97 < spread.agreement < 100


@pytest.mark.parametrize("n", [2, 7, 20])
def test_the_histogram_counts_every_example_once(spread, n):
    some = permutations.Spread("digits", spread.perceptrons[:n], None)
    found = permutations.bins(some)
    assert found[0][:2] == (0, 0)
    assert [low for low, *_ in found[1:]] == [1 + high for _, high, *_ in found[:-1]]
    assert found[-1][1] == n
    for low, high, count, _ in found:
        assert count == sum(low <= times <= high for times in some.occurrences)
    assert sum(chance for *_, chance in found) == pytest.approx(1200)


@pytest.mark.parametrize("with_svm", [True, False])
def test_the_table_and_the_figure_of_the_permutations(spread, with_svm):
    shown = spread if with_svm else permutations.Spread("digits", spread.perceptrons, None)
    head, _, support, *_ = permutations.table(shown).splitlines()
    assert ("SVM" in head) is ("SVM" in permutations.overlap(shown)) is with_svm
    sizes = [int(one.support.sum()) for one in spread.perceptrons]
    assert support.startswith(f"| support | {min(sizes)} | {np.mean(sizes):.4g} | {max(sizes)} |")
    figure = permutations.draw(shown)
    try:
        left, right = figure.axes
        assert [bar.get_height() for bar in left.patches] == [n for _, _, n, _ in permutations.bins(shown)]
        dots = right.collections[0].get_offsets().tolist()
        assert dots == [[n, pytest.approx(one.error)] for n, one in zip(sizes, spread.perceptrons, strict=True)]
        assert len(right.get_lines()) == with_svm
    finally:
        pyplot().close(figure)


# -- the attained margin ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("label", "degree"), [(0, 2), (3, 3), (8, 4)])
def test_the_margin_keeps_its_promise(label, degree):
    """The guarantee speaks of the largest margin; the adatron's is at most that, so it must hold for it as well."""
    taus = (0.0, 0.05, 0.3, 1.0, 4.0)
    found = attained_margin.measure(problem(label), "digits", degree=degree, taus=taus, seeds=(3, 4))
    for j, tau in enumerate(taus):
        assert (found.fraction[:, j] > 0).all()
        assert (found.fraction[:, j] >= tau / (1 + 2 * tau)).all()
        assert (found.fraction[:, j] <= 1 + 1e-4).all()
        assert (found.updates[:, j] <= (1 + 2 * tau) / found.best**2).all()
        assert (found.support[:, j] <= found.updates[:, j]).all()
    assert found.most_updates == pytest.approx([(1 + 2 * tau) / found.best**2 for tau in taus])
    for measured in (found.fraction, found.updates):
        assert (np.diff(measured.mean(0)[1:]) > 0).all()  # below τ = 0.05 the order of the examples matters more


def test_the_attained_margin_is_that_of_the_kernel():
    X, y, X_test, y_test = problem(0)
    attained, updates, support, error = attained_margin.train((X, y, X_test, y_test), degree=3, tau=0.5, seed=1)
    K = (X.astype(np.float64) @ X.T + 1) ** 3
    K /= np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    model = paper_perceptron(
        degree=3, gamma=1.0, normalize_kernel=True, margin=0.5, epochs=None, random_state=1, rule="last"
    ).fit(X, y)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    scores = np.where(y, 1, -1) * (K @ alpha)
    assert attained == pytest.approx(scores.min() / (alpha @ K @ alpha) ** 0.5)
    assert attained == margins(model, X, y).unnormalized[0]
    assert (scores > 0.5 - 1e-9).all()
    assert (updates, support) == (np.abs(alpha).sum(), np.count_nonzero(alpha))
    assert error == pytest.approx(100 * (1 - model.score(X_test, y_test)))


def test_the_table_and_the_figure_of_the_margin():
    found = attained_margin.measure(problem(0), "digits", degree=2, taus=(0.0, 1.0), seeds=(0,))
    rows = attained_margin.table(found).splitlines()
    assert rows[2].startswith("| 0 | ")
    cells = rows[3].strip("| ").split(" | ")
    assert cells[:4] == ["1", f"{found.fraction[0, 1]:.3f}", f"{found.fraction[0, 1]:.3f}", "0.333"]
    assert cells[4:7] == [*[f"{found.updates[0, 1]:,.0f}"] * 2, f"{3 / found.best**2:,.0f}"]
    assert f"γ* = {found.best:.4f}" in attained_margin.summary(found)
    figure = attained_margin.draw(found)
    try:
        for axes, values in zip(
            figure.axes, ([found.fraction[0], found.guaranteed], [found.updates[0], found.most_updates]), strict=True
        ):
            drawn = [line.get_ydata() for line in axes.get_lines()]
            for expected in values:
                assert any(np.allclose(one, expected) for one in drawn)
    finally:
        pyplot().close(figure)


# -- the commands -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("module", EXPERIMENTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_a_command_writes_the_same_files_twice(module, tmp_path, capsys):
    printed = []
    for name in ("one", "two"):
        assert module.main([*EXPERIMENTS[module], "--out", str(tmp_path / "new" / name)]) == 0
        said = capsys.readouterr()
        assert re.fullmatch(r"(Training +\d+%, \d of \d permutations(, \d+:\d\d left)?\n)+", said.err)
        *text, svg, png = said.out.splitlines()
        assert [svg, png] == [str(tmp_path / "new" / f"{name}{suffix}") for suffix in (".svg", ".png")]
        assert text[0].startswith("| ")
        printed.append(text)
    assert printed[0] == printed[1]
    one, two = (tmp_path / "new" / "one", tmp_path / "new" / "two")
    for suffix in (".svg", ".png"):
        assert one.with_suffix(suffix).read_bytes() == two.with_suffix(suffix).read_bytes()


@pytest.fixture
def mnist_folder(tmp_path):
    """A folder with the four files of MNIST, for 300 and 100 of scikit-learn's digits."""
    X, y, X_test, y_test = images()
    for part, pixels, labels in (("train", X[:300], y[:300]), ("t10k", X_test[:100], y_test[:100])):
        head = struct.pack(">HBB3I", 0, 8, 3, len(pixels), 8, 8)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(head + pixels.tobytes())
        head = struct.pack(">HBB1I", 0, 8, 1, len(labels))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(head + labels.astype(np.uint8).tobytes())
    return tmp_path


@pytest.mark.slow
def test_data_of_ones_own(mnist_folder, capsys):
    """A long name of the folder leaves the figure its room."""
    mnist_folder = mnist_folder.rename(mnist_folder.parent / ("a long name " * 12))
    options = ["--data", str(mnist_folder), "--permutations", "2", "--label", "1", "--out", str(mnist_folder / "f")]
    assert permutations.main([*options, "--no-svm"]) == 0
    out = capsys.readouterr().out
    assert "| examples | 300 |" in out
    assert "SVM" not in out
    assert attained_margin.main([*options, "--taus", "0", "1"]) == 0


@pytest.mark.parametrize(
    ("module", "options", "sentence"),
    [
        (parallel_lines, ["--sizes", "0"], "must be an int in the range [1, inf). Got '0' instead."),
        (parallel_lines, ["--permutations", "0"], "must be an int in the range [1, inf). Got '0' instead."),
        (permutations, ["--degree", "2.5"], "must be an int in the range [1, inf). Got '2.5' instead."),
        (permutations, ["--seed", "-1"], "must be an int in the range [0, 2^31). Got '-1' instead."),
        (attained_margin, ["--taus", "1", "-2"], "must be a number in the range [0, inf). Got '-2' instead."),
        (attained_margin, ["--taus", "nan"], "must be a number in the range [0, inf). Got 'nan' instead."),
        (attained_margin, ["--taus", "wide"], "must be a number in the range [0, inf). Got 'wide' instead."),
        (attained_margin, ["--tau", "1"], "unrecognized arguments: --tau 1"),
    ],
)
def test_options_out_of_range(module, options, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        module.main(["--out", str(tmp_path / "figure"), *options])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "options", "sentence"),
    [
        (parallel_lines, ["--sizes", "3"], "--sizes must be ints in the range [4, inf), each above the last. Got 3 "),
        (parallel_lines, ["--sizes", "9", "9"], "each above the last. Got 9 9 instead."),
        (permutations, ["--permutations", "1"], "--permutations must be an int in the range [2, inf). Got 1 instead."),
        (permutations, ["--label", "10"], "--label must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9. Got 10 instead."),
        (permutations, ["--data", "no-such-folder"], "or a folder with the four IDX files of a set. Got"),
        (permutations, ["--degree", "400"], "float64"),
        (permutations, ["--degree", "1"], "still made mistakes after 1000 epochs: raise --degree."),
        (attained_margin, ["--degree", "1"], "The adatron found no margin that all examples keep: raise --degree."),
        (attained_margin, ["--taus", "1", "0"], "--taus must be each above the last. Got 1 0 instead."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(module, options, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    assert module.main(["--out", str(tmp_path / "figure"), *options]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err.splitlines()[-1]
    assert printed.err.count("\n") <= 2  # progress, and the sentence
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", EXPERIMENTS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_a_folder_that_cannot_be_made_is_one_sentence(module, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    pyplot().close("all")  # what other tests looked at
    assert module.main([*EXPERIMENTS[module], "--out", str(tmp_path / "file" / "figure")]) == 2
    [said] = [line for line in capsys.readouterr().err.splitlines() if not re.match(r"Training +\d+%, ", line)]
    assert "file" in said
    assert pyplot().get_fignums() == []


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name"),
    [(parallel_lines, "parallel-lines"), (permutations, "permutations"), (attained_margin, "attained-margin")],
)
def test_the_page_shows_the_figures_and_names_the_commands(module, name):
    page = (DOCS / "sparsity.md").read_text(encoding="utf-8")
    assert f"]({name}.svg)" in page
    assert f"python -m {module.__name__}\n" in page
    assert (DOCS / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (DOCS / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_page_says_what_comes_out():
    """The tables of the lines and of the margin's guarantee, as the commands make them."""
    page = (DOCS / "sparsity.md").read_text(encoding="utf-8")
    counts = parallel_lines.measure((20, 60), seed=0, permutations=20)
    for line in parallel_lines.table(counts).splitlines():
        for cell in [line] if "bound" in line else line.split(" | ")[:5]:  # what solvers choose depends on versions
            assert cell in page
    found = attained_margin.measure(problem(8), "digits", degree=4, taus=(0.0, 1.0), seeds=range(10))
    for line in attained_margin.table(found).splitlines():
        assert line in page
    spread = permutations.measure(problem(8), "digits", degree=4, seeds=range(100), with_svm=False)
    tables = (permutations.table(spread), permutations.histogram(spread), permutations.overlap(spread))
    for line in "\n".join(tables).splitlines()[2:]:
        assert line.removesuffix(" |") in page
