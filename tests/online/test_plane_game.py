"""The rules of the game in the plane, and the player that looks ahead."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import thorough

from votron import OnlinePerceptron
from votron.online.plane_game import LongestGame, PlaneRules

ANGLES = st.floats(-180, 180)


def most_mistakes(rules, height=0.0, b=0.0, n_steps=25):
    """The longest of all games whose steps across u are from a few, by trying them all."""
    s = math.sqrt(rules.radius**2 - rules.margin**2)
    best = 0
    for c in np.linspace(-s, s, n_steps) * (1 - 1e-9):
        if height * rules.margin + b * c <= 0:
            best = max(best, 1 + most_mistakes(rules, height + rules.margin, b + c, n_steps))
    return best


@thorough(100)
@given(ANGLES, st.floats(0.05, 1), st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), st.sampled_from([1, -1]))
def test_the_rules(angle, margin, a, b, y):
    rules = PlaneRules(angle, margin, 1.0)
    towards = y * (a * math.cos(math.radians(angle)) + b * math.sin(math.radians(angle)))
    broken = rules.broken((a, b), y)
    if abs(math.hypot(a, b) - 1) > 1e-9 and abs(towards - margin) > 1e-9 and abs(towards) > 1e-9:
        expected = "R" if math.hypot(a, b) > 1 else "u" if towards < 0 else "γ" if towards < margin else None
        assert (None if broken is None else broken.name) == expected
    if broken is not None:
        assert broken.sentence.startswith(f"Rule {broken.name}: ")
        assert broken.sentence.endswith(".")


@thorough(30)
@given(ANGLES, st.floats(0.08, 0.99), st.floats(0.3, 2))
def test_every_example_is_allowed_and_a_mistake(angle, share, radius):
    rules = PlaneRules(angle, share * radius, radius)
    player, learner, n = LongestGame(rules), OnlinePerceptron(target=rules.u), 0
    while (z := player.next(learner.v)) is not None:
        y = 1 if n % 2 else -1
        assert rules.broken(tuple((y * z).tolist()), y) is None
        assert learner.update(y * z, y)
        n += 1
    assert n == player.count() <= rules.bound
    assert player.over(learner.v)
    assert n >= 1


@pytest.mark.parametrize("margin", [0.8, 0.7, 0.6, 0.45, 0.4])
def test_it_forces_as_many_as_trying_everything(margin):
    rules = PlaneRules(20, margin, 1.0)
    assert LongestGame(rules).count() >= most_mistakes(rules)


def test_it_forces_about_half_of_the_bound():
    shares = [LongestGame(PlaneRules(0, margin, 1.0)).count() * margin**2 for margin in (0.2, 0.1, 0.04)]
    assert all(0.45 < share < 0.55 for share in shares)


def test_where_it_cannot_go_on():
    narrow = LongestGame(PlaneRules(0, 1.0, 1.0))  # rounding leaves no room
    assert narrow.next(np.zeros(2)) is None
    assert narrow.over(np.zeros(2))
    rules = PlaneRules(0, 0.2, 1.0)
    assert LongestGame(rules).next(np.array([3.0, 0.0])) is None
    assert not LongestGame(rules).over(np.zeros(2))
