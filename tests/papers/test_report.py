"""The report: every number is on the page, the page needs nothing else, and figures show what the runs found."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from html_pages import Page
from matplotlib.image import imread

from votron.data import ImageSet, load_image_set
from votron.papers import report
from votron.papers.claims import Claim
from votron.papers.figures import figure2, learning_curves
from votron.papers.frontier import Point, Setting, frontier_table
from votron.papers.report import SHOWN_RULES, disagreements
from votron.papers.reproduce import Settings, reproduce
from votron.papers.runs import LINES, RULES, Results, RunKey, perform
from votron.papers.tables import Cell, Fact, Row, Table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A few digits under MNIST's name, so that there are published numbers, with which most do not agree."""
    whole = load_image_set("digits")
    data = ImageSet("mnist", whole.X[:300], whole.y[:300], whole.X_test, whole.y_test, (8, 8), "a few digits")
    settings = Settings(
        what=("table1", "table2", "table3", "figure2", "claims", "sparsity"), permutations=3, epochs=1.2, jobs=1
    )
    return reproduce(settings, data, tmp_path_factory.mktemp("runs"), command="votron reproduce", quiet=True)


def html(made):
    """The page, with its non-breaking spaces as spaces."""
    return report.html(made).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def page(made):
    return html(made)


def with_data(made, **fields):
    return replace(made, results=replace(made.results, data=replace(made.results.data, **fields)))


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_refers_to_nothing_outside_it(page):
    parsed = Page(page)
    assert not {"script", "link", "iframe"} & set(parsed.tags)
    assert len(parsed.references) > 20
    for reference in parsed.references:
        assert reference.startswith("data:image/png;base64,") or reference[0] == "#", reference
        assert reference[0] != "#" or reference[1:] in parsed.ids, reference
    assert not re.search(r"https?:|@import", page)
    assert {found[1:] for found in re.findall(r"url\(([^)]*)\)", page)} <= set(parsed.ids)


def test_every_number_of_every_table_is_there(made, page):
    rows = Page(page).rows
    assert len(made.tables) == 4
    head = 0
    for table in made.tables:
        head = rows.index(["", *table.columns], head + 1)
        at = iter(rows[head + 1 :])
        for group, inside in table.groups:
            assert next(at)[0] == group
            for row in inside:
                assert next(at) == [row.name, *map(_ours, row.cells)]
                for paper, cells in row.by_paper:
                    if any(cell is not None and cell.paper for cell in cells):
                        assert next(at) == [paper, *map(_theirs, cells)]


def _ours(cell):
    if cell is None:
        return ""
    digits = "0" if cell.count else "2"
    return f"{cell.value:,.{digits}f}" + ("" if cell.error is None else f"±{cell.error:,.{digits}f}")


def _theirs(cell):
    if cell is None or cell.paper is None:
        return ""
    difference = f"{cell.value - cell.paper.value:+,.{0 if cell.count else 2}f}".replace("-", "−")
    difference = difference[1:] if not re.search("[1-9]", difference) else difference
    return f"{cell.paper} ({difference}){' !' if cell.agrees is False else ''}"


def test_every_number_that_does_not_agree_is_marked(made, page):
    off = sum(len(table.disagreements) for table in made.tables)
    compared = sum(table.n_compared for table in made.tables)
    assert off > 30
    assert f"{compared - off} of {compared}<small>{off} differ" in page
    assert len(re.findall('<td class="off">[^<]* !</td>', page)) == off


@pytest.mark.slow
def test_what_is_hostile_is_shown_and_not_done(made):
    evil = "<script>alert(1)</script>\"'&amp;<b>"
    table = Table("frontier", evil, evil, (evil,), (Row(evil, (Cell(1.0, None, Fact(9.0, True)),), evil),), (evil,))
    hostile = with_data(made, name=evil, source=evil)
    claim = Claim(evil, evil, False, evil)
    parsed = Page(html(replace(hostile, tables=[table], claims=[claim], notes=[evil], command=evil)))
    assert "script" not in parsed.tags
    assert "".join(parsed.text).count(evil) >= 10


def test_a_report_of_nothing_but_the_frontier(made, tmp_path):
    points = [Point(Setting("SVC", "raw", 4), {"SVC": 1.25}, 100, 1000, 1.0, 0.1)]
    results = Results(made.results.data, {})
    table = frontier_table(points, mnist=False)
    settings = Settings(what=("frontier",))
    only = replace(made, results=results, settings=settings, tables=[table], claims=[], frontier=points)
    files = report.write(only, tmp_path)
    names = ["frontier.csv", "frontier.md", "results.json", "report.html", "frontier.svg", "frontier.png"]
    assert [file.name for file in files] == names
    parsed = Page(files[3].read_text(encoding="utf-8"))
    assert ["SVC, raw, (1 + 3 x·z)^4, C = 10", "1.25", "", "", "100", "1.00", "0.10"] in parsed.rows
    assert parsed.tags.count("svg") == 1
    assert parsed.ids[:2] == ["summary", "frontier"]


def test_without_matplotlib_the_report_says_so(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not any(file.suffix == ".svg" for file in report.write(made, tmp_path))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "pip install" in text
    ids = set(Page(text).ids)
    assert not {"figure2", "learning"} & ids
    assert {"table1", "images", "times", "made"} <= ids


def test_a_new_report_replaces_an_old_one(made, tmp_path):
    small = replace(made, results=replace(made.results, runs={4: made.results.runs[4]}))
    files = report.write(small, tmp_path)
    assert {file.name for file in files} == {path.name for path in tmp_path.iterdir()}
    assert imread(tmp_path / "figure2.png").shape[1] > 500
    before = {file: file.read_bytes() for file in files}
    report.write(small, tmp_path)
    assert {file: file.read_bytes() for file in files} == before


# -- figures ----------------------------------------------------------------------------------------------------------


def test_figure_2_shows_the_means_of_the_runs(made):
    figure = figure2(made.results, range(1, 7), heading="a few digits")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"d = {d}" for d in range(1, 7)]
    assert {text.get_text() for text in figure.legends[0].texts} == {"random", "last", "average", "vote"}
    for degree, axes in enumerate(figure.axes, start=1):
        assert axes.get_xscale() == "log"
        for row, line, band in zip(LINES, axes.lines, axes.collections, strict=True):
            r = list(RULES).index(row)
            errors = [100 * run.wrong[r] / run.n_test for run in made.results.runs[degree]]
            assert line.get_xdata() == pytest.approx(np.arange(1, 13) / 10)
            assert line.get_ydata() == pytest.approx(np.mean(errors, axis=0))
            low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
            assert (low, high) == pytest.approx((np.min(errors), np.max(errors)))
            least, most = axes.get_ylim()
            assert least <= low <= high <= most


def test_learning_curves_show_counts(made):
    mistakes, support = learning_curves(made.results).axes
    for degree, line, other in zip(made.results.runs, mistakes.lines, support.lines, strict=True):
        mine = made.results.runs[degree]
        assert line.get_label() == f"d = {degree}"
        assert line.get_ydata() == pytest.approx(np.mean([run.mistakes.sum(axis=1) for run in mine], axis=0))
        assert other.get_ydata() == pytest.approx(np.mean([run.support_of_any for run in mine], axis=0))
    assert sorted(text.get_text() for text in mistakes.texts) == [f"d = {d}" for d in range(1, 7)]


# -- images that the rules disagree on --------------------------------------------------------------------------------


def test_images_are_those_that_the_rules_disagree_on(made):
    run, found = made.results.runs[4][0], disagreements(made.results)
    rows = [list(RULES).index(rule) for rule in SHOWN_RULES]
    assert {case.index for case in found} == {i for i in range(run.n_test) if len(set(run.predicted[rows, i])) > 1}
    for case in found:
        assert case.truth == made.results.data.y_test[case.index]
        assert list(case.labels.values()) == run.predicted[rows, case.index].tolist()
        assert max(case.shares, key=case.shares.get) == case.labels["Vote"]
        assert list(case.shares.values()) == pytest.approx((1 + run.votes[case.index]) / 2, abs=1e-6)
    kinds = {case.right for case in found}
    assert len(kinds) > 3
    assert {case.right for case in found[: len(kinds)]} == kinds  # every kind comes before a second of the same


def test_two_classes_share_the_votes_of_one_vector(digits):
    data = replace(digits, y=digits.y % 2, y_test=digits.y_test % 2)
    found = disagreements(Results(data, {2: [perform(RunKey(data.digest, 2, 0, 1.0), data)]}))
    assert len(found) > 0
    assert all(sum(case.shares.values()) == pytest.approx(1) for case in found)
