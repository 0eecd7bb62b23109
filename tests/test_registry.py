"""Registries: what is admitted, what entry points bring, and what is not looked for."""

import subprocess
import sys
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


BROUGHT = """
from dataclasses import dataclass

import numpy as np
from votron.data.formats import Format, Part
from votron.kernels import Kernel
from votron.rules import MomentRule
from votron.theory.evidence import LAST
from votron.theory.statements import GUARANTEE, Statement


@dataclass(frozen=True)
class Shifted(Kernel):
    gamma: float = 1.0
    name = "shifted"

    def formula(self, xz, xx, zz):
        return self.gamma * xz + 1.0


class Start(MomentRule):
    name = "start"

    def times(self, vectors, until):
        return np.full(vectors.record.n_vectors, min(10, until))


class Bits(Format):
    name, suffixes = "bits", (".bits",)

    def read(self, source, options, batch_bytes):
        rows = np.array([list(map(int, line)) for line in source.read().decode().split()])
        yield Part(rows[:, :-1], rows[:, -1])


bound = Statement("always one", "1", GUARANTEE, "error", LAST, (), lambda evidence, c, delta: (1.0, "by nature"))
"""
ENTRY_POINTS = """
[votron.kernels]
shifted = brought:Shifted
[votron.rules]
start = brought:Start
[votron.formats]
bits = brought:Bits
[votron.bounds]
always one = brought:bound
"""
COMMANDS = """
assert main("train a.bits --kernel shifted --rule start --epochs 1 -o m.votron --quiet".split()) == 0
assert main(["certify", "m.votron", "a.bits", "--bound", "always one", "--json"]) == 0
assert main("evaluate m.votron a.bits --rule nowhere".split()) == 1
assert main("train a.bits --kernel nowhere -o m.votron".split()) == 2
assert main("data describe a.bits --format nowhere".split()) != 0
"""


@pytest.mark.slow
def test_an_installed_package_brings_names_to_the_command_line(tmp_path):
    (tmp_path / "brought.py").write_text(BROUGHT)
    (tmp_path / "brought-1.0.dist-info").mkdir()
    (tmp_path / "brought-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (tmp_path / "brought-1.0.dist-info/entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "a.bits").write_text("101\n010\n111\n000\n" * 5)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom votron.cli import main\n{COMMANDS}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "always one" in done.stdout
    assert "--rule" in done.stderr
    assert "--kernel" in done.stderr
