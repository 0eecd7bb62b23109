"""Registries: what is admitted, what entry points bring, and what is not looked for."""

from dataclasses import dataclass

import numpy as np
import pytest

from votron import VotronError
from votron.kernels import KERNELS, Kernel, register_kernel
from votron.rules import RULES, MomentRule
from votron.theory.evidence import LAST
from votron.theory.statements import GUARANTEE, STATEMENTS, Statement, register_bound


class First(MomentRule):
    name = "first"

    def times(self, vectors, until):
        return np.full(vectors.record.n_vectors, min(1, until))


class Entry:
    """An entry point, as packages have them."""

    def __init__(self, thing):
        self.thing = thing

    def load(self):
        return self.thing


@pytest.fixture
def brought(monkeypatch):
    """Return a function that makes entry points of things by name."""

    def bring(**things):
        looked_for = []

        def entry_points(*, group, name):
            looked_for.append((group, name))
            return [Entry(things[name])] if name in things else []

        monkeypatch.setattr("votron._util.registry.importlib.metadata.entry_points", entry_points)
        return looked_for

    return bring


@pytest.mark.parametrize("thing", [First, First()], ids=["class", "object"])
def test_a_rule_is_brought_as_a_class_or_an_object(brought, thing):
    brought(first=thing)
    assert isinstance(RULES["first"], First)


def test_entry_points_are_loaded_for_names_that_are_asked_for_and_not_for_membership(brought):
    looked_for = brought(first=First)
    assert "first" not in RULES
    assert RULES.get("first") is None
    assert looked_for == []
    assert RULES.load("first")
    assert looked_for == [("votron.rules", "first")]
    assert not RULES.load("nowhere")
    with pytest.raises(VotronError):
        RULES["nowhere"]


def test_what_is_brought_is_checked(brought):
    brought(wrong=3)
    with pytest.raises(VotronError, match="A rule to register must be"):
        RULES.load("wrong")
    with pytest.raises(VotronError, match="must be a dataclass derived from Kernel"):
        KERNELS.load("wrong")


def test_kernels_that_no_file_could_hold_are_refused():
    @dataclass(frozen=True)
    class OfList(Kernel):
        parts: tuple = ()
        name = "of list"

    @dataclass(frozen=True)
    class Normalized(Kernel):
        name = "normalized"

    with pytest.raises(VotronError, match="Got 'parts' of OfList without one instead"):
        register_kernel(OfList)
    with pytest.raises(VotronError, match="There is a kernel of the name 'normalized' already"):
        register_kernel(Normalized)


def one(evidence, c, delta):
    return 0.1, ""


def another(evidence, c, delta):
    return 0.9, ""


def bound(name, value, wants=("i.i.d.",)):
    return Statement(name, "", GUARANTEE, "error", LAST, wants, value)


def test_two_bounds_of_one_name():
    register_bound(bound("mine", one))
    register_bound(bound("mine", one))  # as when a cell of a notebook is run again
    with pytest.raises(VotronError, match="There is a bound of the name 'mine' already"):
        register_bound(bound("mine", another))
    with pytest.raises(VotronError, match="it is one of Votron's"):
        register_bound(bound(STATEMENTS[-1].name, one))
