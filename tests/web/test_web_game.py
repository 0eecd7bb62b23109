"""The game over HTTP, against a perceptron by hand and the library."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import thorough

from votron import OnlinePerceptron
from votron.online.plane_game import LongestGame, PlaneRules
from votron.theory import novikoff_bound
from votron.web._game import Move, PlaneGame, RuleBrokenError, Setup, field_of

COORDINATES = st.integers(-1500, 1500).map(lambda n: n / 1000)
POINTS = st.tuples(COORDINATES, COORDINATES)
SETUPS = st.builds(
    Setup,
    angle=st.integers(-180, 180),
    margin=st.integers(5, 40).map(lambda n: n / 100),
    radius=st.integers(50, 150).map(lambda n: n / 100),
)


def textbook(setup, points):
    """The game as one would play it by hand: what is refused and by which rule, k, v, and the proof's two numbers."""
    turn = math.radians(setup.angle)
    u = (math.cos(turn), math.sin(turn))
    v, refused, along, length = (0.0, 0.0), [], [0.0], [0.0]
    for a, b in points:
        towards = u[0] * a + u[1] * b
        y = 1 if towards >= 0 else -1
        if math.hypot(a, b) > setup.radius:
            refused.append("R")
            continue
        if abs(towards) < setup.margin:
            refused.append("γ")
            continue
        refused.append(None)
        if y * (v[0] * a + v[1] * b) <= 0:
            v = (v[0] + y * a, v[1] + y * b)
            along.append(v[0] * u[0] + v[1] * u[1])
            length.append(math.hypot(*v))
    return refused, v, along, length


@thorough(100)
@given(SETUPS, st.lists(POINTS, max_size=30))
def test_a_game_by_hand(setup, points):
    game, found = PlaneGame(setup), []
    for point in points:
        try:
            game.give(list(point))
            found.append(None)
        except RuleBrokenError as error:
            found.append(error.rule)
    refused, v, along, length = textbook(setup, points)
    standing = game.standing()
    assert found == refused
    assert standing.k == len(along) - 1 <= standing.bound * (1 + 1e-9)
    assert standing.bound == pytest.approx((setup.radius / setup.margin) ** 2)
    assert game.learner.v == pytest.approx(v, abs=1e-12)
    assert standing.proof.along == pytest.approx(along, abs=1e-9)
    assert standing.proof.length == pytest.approx(length, abs=1e-9)
    for k, (low, high) in enumerate(zip(along, length, strict=True)):
        assert k * setup.margin <= low * (1 + 1e-9) + 1e-12
        assert high <= math.sqrt(k) * setup.radius * (1 + 1e-9)


def test_a_scripted_game_over_http(client):
    setup = {"angle": 90, "margin": 0.25, "radius": 1}
    state = client.post("/games", json={"setup": setup}).json()
    where, learner = f"/games/{state['id']}", OnlinePerceptron(target=[0, 1], keep_history=True)
    for x in ([0.5, 0.5], [0.9, -0.3], [-0.8, 0.3], [0.1, -0.9]):
        y = 1 if x[1] > 0 else -1
        mistake = learner.update(x, y)
        answer = client.post(f"{where}/examples", json={"x": x}).json()
        assert answer["first"] == learner.t - 1
        assert [(r["x"], r["y"], r["mistake"], r["v"]) for r in answer["rounds"]] == [
            (x, y, mistake, learner.v.tolist())
        ]
        assert answer["standing"]["k"] == learner.k
        assert answer["standing"]["bound"] == novikoff_bound(1, 0.25) == 16
        assert answer["standing"]["proof"]["along"][-1] == pytest.approx(learner.v_dot_u)
        assert answer["standing"]["proof"]["length"][-1] == pytest.approx(math.sqrt(learner.norm2))
    whole = client.get(where).json()
    assert [r["t"] for r in whole["rounds"]] == [1, 2, 3, 4]
    back = client.post(f"{where}/undo", json={}).json()
    assert (back["first"], back["rounds"], back["standing"]["t"]) == (3, [], 3)
    again = client.post(f"{where}/again", json={}).json()
    assert again["rounds"][0]["x"] == [0.5, 0.5]
    begun = client.post("/games", json={"setup": setup, "moves": [{"x": r["x"], "y": r["y"]} for r in whole["rounds"]]})
    assert begun.json()["rounds"] == whole["rounds"]
    assert client.get("/games/" + 16 * "x").status_code == 404


@pytest.mark.parametrize(
    ("move", "rule", "words"),
    [
        ({"x": [0.9, 0.9]}, "R", "Rule R"),
        ({"x": [0.5, 0.1]}, "γ", "γ is 0.3"),
        ({"x": [0.0, 0.5], "y": -1}, "u", "Rule u"),
    ],
)
def test_each_rule_is_named(client, move, rule, words):
    state = client.post("/games", json={"setup": {"angle": 90}}).json()
    refused = client.post(f"/games/{state['id']}/examples", json=move)
    assert refused.status_code == 409
    assert refused.json()["rule"] == rule
    assert words in refused.json()["detail"]
    assert client.get(f"/games/{state['id']}").json()["rounds"] == []


def test_rules_change_only_as_far_as_the_examples_allow(client):
    moves = [{"x": [0.0, 0.5], "y": 1}]
    state = client.post("/games", json={"setup": {"angle": 90}, "moves": moves}).json()
    refused = client.put(f"/games/{state['id']}/setup", json={"angle": 90, "margin": 0.6})
    assert (refused.status_code, refused.json()["rule"]) == (409, "γ")
    changed = client.put(f"/games/{state['id']}/setup", json={"angle": 80, "margin": 0.4})
    assert changed.json()["standing"]["bound"] == pytest.approx(6.25)
    for wrong in ({"margin": 1.2, "radius": 1}, {"kernel": {"name": "poly"}}, {"angle": "north"}):
        assert client.put(f"/games/{state['id']}/setup", json=wrong).status_code == 422


# -- labels as A likes ------------------------------------------------------------------------------------------------


def widest_margin(points, labels):
    """The margin of the best of many directions through the origin."""
    turn = np.linspace(-np.pi, np.pi, 20_001)
    u = np.stack([np.cos(turn), np.sin(turn)])
    return float((np.array(labels)[:, None] * (np.array(points) @ u)).min(axis=0).max())


@thorough(60)
@given(st.lists(st.tuples(POINTS, st.sampled_from([1, -1])), min_size=1, max_size=8))
def test_free_play_finds_a_target_or_says_that_none_is_left(moves):
    game = PlaneGame(Setup(mode="free", radius=1.5))
    kept = [(x, y) for x, y in moves if math.hypot(*x) <= 1.5]
    for x, y in kept:
        game.give(list(x), y)
    standing = game.standing()
    if not kept:
        assert standing.bound is None
        return
    best = widest_margin(*zip(*kept, strict=True))
    found = standing.separation
    if found is None:
        assert best < 2e-4 * 1.5
        assert standing.k <= standing.bound * (1 + 1e-9)
    else:
        assert found.margin == pytest.approx(best, abs=1e-3)
        assert math.hypot(*found.u) == pytest.approx(1)
        assert min(y * (found.u[0] * x[0] + found.u[1] * x[1]) for x, y in kept) == pytest.approx(
            found.margin, abs=1e-6
        )
        assert standing.k <= standing.bound * (1 + 1e-9)


def test_free_play_with_a_kernel_separates_what_no_line_does():
    setup = {"mode": "free", "kernel": {"name": "poly", "degree": 2}}
    xor = [Move(x=[a, b], y=1 if a * b > 0 else -1) for a in (0.5, -0.5) for b in (0.5, -0.5)]
    curved = PlaneGame(Setup(**setup), xor * 6)
    straight = PlaneGame(Setup(mode="free"), xor * 6)
    assert curved.standing().separation.u is None
    assert curved.standing().separation.margin > 0
    assert curved.standing().deviation == 0
    assert straight.standing().separation is None
    assert straight.standing().k > curved.standing().k
    assert [curved.predict(move.x).prediction for move in xor] == [move.y for move in xor]


@thorough(40)
@given(st.lists(st.tuples(POINTS, st.sampled_from([1, -1])), min_size=1, max_size=20))
def test_noise_counts_as_deviation(moves):
    game = PlaneGame(Setup(mode="noisy", angle=90, margin=0.3, radius=1.5))
    kept = [(x, y) for x, y in moves if math.hypot(*x) <= 1.5]
    for x, y in kept:
        game.give(list(x), y)
    short = math.sqrt(sum(max(0.0, 0.3 - y * x[1]) ** 2 for x, y in kept))
    standing = game.standing()
    assert standing.deviation == pytest.approx(short, abs=1e-9)
    assert standing.bound == pytest.approx(((1.5 + short) / 0.3) ** 2)
    assert standing.k <= standing.bound * (1 + 1e-9)


# -- the automatic A, and boundaries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.7, 0.3, 0.1])
def test_the_automatic_player_keeps_to_the_rules_and_forces_mistakes(client, margin):
    state = client.post("/games", json={"setup": {"margin": margin}}).json()
    played = client.post(f"/games/{state['id']}/auto", json={"n": 300}).json()
    par = client.get(f"/games/{state['id']}/par").json()
    assert all(r["mistake"] for r in played["rounds"])
    assert len(played["rounds"]) == par["mistakes"] == LongestGame(PlaneRules(53, margin, 1)).count()
    assert played["standing"]["k"] <= played["standing"]["bound"]
    assert "A has lost" in played["standing"]["sentence"]
    assert client.post(f"/games/{state['id']}/auto", json={"n": 1}).json()["rounds"] == []


def test_the_boundaries_are_those_of_the_rules(client):
    moves = [Move(x=[0.5, 0.5], y=1), Move(x=[0.9, -0.3], y=-1), Move(x=[-0.8, 0.3], y=1), Move(x=[0.1, 0.6], y=1)]
    game = PlaneGame(Setup(angle=90, margin=0.05), moves)
    ticks = np.linspace(-1.6, 1.6, 5)
    grid = [(a, b) for b in ticks[::-1] for a in ticks]
    guesses = [np.asarray(r.v) for r in game.rounds]
    by_hand = {
        "last": [guesses[-1] @ x for x in grid],
        "average": [sum(v @ x for v in guesses) for x in grid],
        "vote": [sum(1 if v @ x >= 0 else -1 for v in guesses) for x in grid],
    }
    state = client.post(
        "/games", json={"setup": game.setup.model_dump(), "moves": [m.model_dump() for m in moves]}
    ).json()
    for rule, scores in by_hand.items():
        expected = np.array(scores) / np.abs(scores).max() * 10_000
        found = field_of(game.vectors(), rule, 5)
        assert found.values == pytest.approx(expected, abs=1)
        over_http = client.get(f"/games/{state['id']}/field", params={"rule": rule, "size": 5}).json()
        assert over_http == found.model_dump()


def test_a_place_is_predicted_before_its_label_is_named(client):
    state = client.post("/games", json={"setup": {"mode": "free"}}).json()
    where = f"/games/{state['id']}"
    assert client.get(f"{where}/prediction", params={"x": 0.2, "y": 0.1}).json() == {"score": 0.0, "prediction": 1}
    unnamed = client.post(f"{where}/examples", json={"x": [0.2, 0.1]})
    assert (unnamed.status_code, unnamed.json()["rule"]) == (409, "label")
    client.post(f"{where}/examples", json={"x": [0.5, 0], "y": -1})
    assert client.get(f"{where}/prediction", params={"x": 0.2, "y": 0.1}).json()["prediction"] == -1
    for path in ("/auto", "/par"):
        answer = client.post(where + path, json={}) if path == "/auto" else client.get(where + path)
        assert answer.status_code == 409
