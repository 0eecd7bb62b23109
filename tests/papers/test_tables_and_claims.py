"""Published numbers, tables and claims, against the runs that they are made from."""

from dataclasses import replace

import numpy as np
import pytest

from votron.papers.claims import claims
from votron.papers.runs import COUNTS, MOMENTS, RULES, MachineResult, Results, RunKey, perform
from votron.papers.tables import Cell, Fact, facts, label_facts, sparsity, table1, table2, table3
from votron.theory import compression_bound


def machine(n_support):
    return MachineResult("a solver", 300, 0.3, n_support, 1.0)


def changed(runs, **fields):
    return {degree: [replace(run, **fields) for run in some] for degree, some in runs.items()}


# -- published numbers ------------------------------------------------------------------------------------------------


def test_facts_of_the_papers():
    for degree in range(1, 7):
        found = facts("freund_schapire", degree)
        assert set(found) <= {*RULES, *COUNTS}
        for row in COUNTS:
            counts = [fact.value for _, fact in sorted(found[row].items())]
            assert counts == sorted(counts)
            assert tuple(found[row]) == (MOMENTS if degree > 1 else MOMENTS[:-1])
    d4 = facts("freund_schapire", 4)
    assert [d4["Mistake"][t].value for t in (1, 4, 30)] == [7977, 12780, 14538]
    assert [d4["Mistake"][t].recalled for t in (1, 4, 30)] == [True, True, False]
    assert not any(fact.recalled for row in facts("li_long", 4).values() for fact in row.values())
    assert facts("li_long", 2) == {}


def test_facts_of_labels_fit_each_other_and_the_bound():
    assert sum(fact.value for fact in label_facts("perceptron", "Mistake")) == 14538
    pairs = zip(label_facts("perceptron", "SupVec"), label_facts("perceptron", "bound"), strict=True)
    bounds = [round(100 * compression_bound(60_000, int(d.value), 0.05), 1) == bound.value for d, bound in pairs]
    assert [c for c, agrees in enumerate(bounds) if not agrees] == [3]


@pytest.mark.parametrize(
    ("cell", "agrees"),
    [
        (Cell(2.20, 0.02, None), None),
        (Cell(2.40, 0.02, Fact(2.2, recalled=True)), True),
        (Cell(2.41, 0.02, Fact(2.2, recalled=True)), False),
        (Cell(11.3, 0.3, Fact(10.7, recalled=True), slack=0.7), True),
        (Cell(2.304, 0.02, Fact(2.26, recalled=False)), True),  # two standard errors and half of the last digit
        (Cell(2.306, 0.02, Fact(2.26, recalled=False)), False),
        (Cell(0.25, 0.0, Fact(0.2, recalled=False)), True),
        (Cell(0.26, None, Fact(0.2, recalled=False)), None),  # of one run it is not known how far it may be off
        (Cell(9.0, 0.1, Fact(0.2, recalled=False), judged=False), None),
        (Cell(102.0, 1.0, Fact(100, recalled=False), count=True), True),
        (Cell(102.1, 1.0, Fact(100, recalled=False), count=True), False),
        (Cell(103.0, 1.0, Fact(100, recalled=True), count=True), True),
        (Cell(96.9, 1.0, Fact(100, recalled=True), count=True), False),
    ],
)
def test_what_agrees(cell, agrees):
    assert cell.agrees is agrees


# -- tables -----------------------------------------------------------------------------------------------------------


def test_table_1_has_the_means_of_the_runs(digits, runs):
    found = table1(Results(digits, runs))
    assert found.columns == ("T = 0.1", "T = 1", "T = 2")
    assert [group for group, _ in found.groups] == ["d = 1", "d = 2", "d = 4"]
    names = [*RULES, "SupVec", "Mistake"]
    assert [row.name for row in found.rows] == 3 * names
    for row in found.rows:
        degree = int(row.group[4:])
        for column, cell in zip(found.columns, row.cells, strict=True):
            t = runs[degree][0].at(float(column[4:]))
            if row.name in RULES:
                values = [100 * run.wrong[names.index(row.name), t] / run.n_test for run in runs[degree]]
            elif row.name == "SupVec":
                values = [run.support_of_any[t] for run in runs[degree]]
            else:
                values = [run.mistakes[t].sum() for run in runs[degree]]
            assert cell.value == pytest.approx(np.mean(values))
            assert cell.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(2))
    assert found.n_compared == 0


def test_table_1_beside_the_paper(digits, runs):
    found = table1(Results(replace(digits, name="mnist"), runs))
    row = next(row for row in found.rows if (row.group, row.name) == ("d = 4", "Mistake"))
    assert row.cells[1].paper == Fact(7977, recalled=True)
    assert row.cells[1].agrees is False
    assert row.other[0] == "Li & Long"
    assert row.other[1][1].paper == Fact(7970, recalled=False)
    assert "~7,977 !" in found.as_text()
    assert found.n_compared > 20


def test_degree_1_has_no_numbers_where_it_did_not_train(digits):
    some = {d: [perform(RunKey(digits.digest, d, 0, epochs), digits)] for d, epochs in ((1, 1.0), (2, 3.0))}
    found = table1(Results(digits, some))
    assert found.columns == ("T = 0.1", "T = 1", "T = 2", "T = 3")
    assert [cell is None for cell in found.rows[0].cells] == [False, False, True, True]


def test_tables_of_labels(digits, runs):
    svms = [machine(40 + c) for c in range(10)]
    assert sparsity(Results(digits, runs, svms)).rows[3].cells == (None,) * 10  # these have not converged
    results = Results(digits, changed(runs, converged=True), svms)
    second = table2(results)
    assert second.columns == tuple("0123456789")
    vote = next(row for row in second.rows if (row.group, row.name) == ("T = 2", "Vote"))
    assert vote.cells[3].value == np.mean([run.wrong_by_label[0, -1, 3] for run in runs[4]])  # of a hundred
    assert [row.name for row in second.rows][-2:] == ["SVM error", "SVM SupVec"]
    third = table3(results)
    assert third.title == "Table 3: 9 against the rest"
    row = next(row for row in third.rows if (row.group, row.name) == ("d = 1", "SupVec"))
    assert row.cells[-1].value == np.mean([run.support[-1, 9] for run in runs[1]])
    fourth = {row.name: row for row in sparsity(results).rows}
    expected = np.mean([100 * compression_bound(300, int(run.support[-1, 5]), 0.05) for run in runs[4]])
    assert fourth["bound (7) %"].cells[5].value == pytest.approx(expected)
    assert fourth["SVM bound (7) %"].cells[5].value == pytest.approx(100 * compression_bound(300, 45, 0.05))


# -- claims -----------------------------------------------------------------------------------------------------------


def holds(data, runs, svms=()):
    return {claim.text: claim.holds for claim in claims(Results(data, runs, svms))}


def test_claims_about_machines(digits, runs):
    converged = changed(runs, converged=True)
    for runs_, n_support, expected in ((converged, 250, True), (converged, 1, False), (runs, 250, None)):
        assert list(holds(digits, runs_, [machine(n_support)] * 10).values())[-2:] == [expected] * 2
    found = claims(Results(digits, converged))
    assert len(found) == 10
    assert [claim.holds for claim in found[-2:]] == [None, None]


def test_claims_about_rules_can_fail(digits, runs):
    order = list(RULES)
    better_last = np.full((7, 1), 5)
    better_last[order.index("Last (unnorm)")] = 1
    found = holds(
        digits, {d: [replace(r, wrong=better_last * np.ones_like(r.wrong)) for r in some] for d, some in runs.items()}
    )
    assert found["Voting and averaging beat the last vector"] is False
    assert found["Normalising the vectors matters little"] is False
    assert found["A random vector is the worst in all cases"] is True
    apart = np.full((7, 1), 5)
    apart[order.index("Vote")] = 9
    found = holds(
        digits, {d: [replace(r, wrong=apart * np.ones_like(r.wrong)) for r in some] for d, some in runs.items()}
    )
    assert found["Voting and averaging do not differ much"] is False
    assert found["A random vector is the worst in all cases"] is False


def test_claims_about_degrees_can_fail(digits):
    long = perform(RunKey(digits.digest, 2, 0, 30.0), digits)
    gain, slow, separable = (
        "The largest gain is from degree 1 to degree 2",
        "Small degrees run slowest, because of their mistakes",
        "From degree 5 on the data become separable",
    )
    six = {degree: [replace(long, converged=degree > 3)] for degree in range(1, 7)}
    found = holds(digits, six)
    assert [found[text] for text in (gain, slow, separable)] == [True, True, True]  # all alike
    six[5] = changed({5: six[5]}, converged=False)[5]
    six[6] = [replace(run, train_seconds=1e6, wrong=run.wrong * 0) for run in six[6]]
    found = holds(digits, six)
    assert [found[text] for text in (gain, slow, separable)] == [False, False, False]
