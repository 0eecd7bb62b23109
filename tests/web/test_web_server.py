"""Which requests are answered: hosts, origins, limits; and the schema, fuzzed."""

import contextlib
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import response_schema_conformance
from serving import serving

from votron.errors import MissingPackageError, VotronError
from votron.web import _app, _game, listening
from votron.web._app import STATIC
from votron.web._game import Games, PlaneGame, Setup
from votron.web._models import Piece

load_all_checks()


@pytest.fixture(scope="module")
def small():
    with serving() as address, httpx.Client(base_url=address) as client:
        yield client


# -- who is answered --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "votron.example"}, 421),
        ({"host": "localhost"}, 421),
        ({"origin": "http://votron.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_other_sites_are_refused(small, headers, status):
    assert small.get("/api/runs", headers=headers).status_code == status


def test_its_own_page_is_answered(small):
    own = str(small.base_url).rstrip("/")
    assert small.post("/api/games", json={}, headers={"origin": own}).status_code in (201, 503)
    assert small.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200  # a link that was followed


def test_forms_of_other_pages_cannot_begin_a_game(small):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert small.post("/api/games", content="{}", headers={"content-type": kind}).status_code == 415


def test_every_answer_has_its_headers(small):
    for path, status in (
        ("/", 200),
        ("/static/main.js", 200),
        ("/api/runs", 200),
        ("/api/none", 404),
        ("/static/../app.py", 404),
    ):
        answer = small.get(path)
        assert answer.status_code == status
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_nothing_comes_from_elsewhere():
    files = sorted(STATIC.iterdir())
    assert len(files) > 10
    for file in files:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"(?:https?:)?//[a-z][\w.-]*\.[a-z]{2,}", text) == []


# -- limits -----------------------------------------------------------------------------------------------------------


def test_requests_are_small(small, monkeypatch):
    monkeypatch.setattr(_app, "MOST_BYTES", 2000)
    answer = small.post("/api/games", json={"moves": [{"x": [0.1, 0.1], "y": 1}] * 200})
    assert (answer.status_code, answer.json()["detail"]) == (413, "A request has 2,000 bytes at most.")
    pieces = (b" " * 500 for _ in range(10))  # without a length that could be looked at
    assert small.post("/api/games", content=pieces, headers={"content-type": "application/json"}).status_code == 413


def test_a_game_is_short(small, monkeypatch):
    monkeypatch.setattr(_game, "MOST_EXAMPLES", 3)
    game = small.post("/api/games", json={"setup": {"mode": "free"}}).json()["id"]
    answers = [small.post(f"/api/games/{game}/examples", json={"x": [0.1, 0.2], "y": 1}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 409]
    assert answers[-1].json()["rule"] == "limit"


def test_of_too_many_games_the_one_asked_for_longest_ago_is_forgotten(monkeypatch):
    monkeypatch.setattr(_game, "MOST_GAMES", 2)
    games = Games()
    first, second = games.add(PlaneGame(Setup())), games.add(PlaneGame(Setup()))
    assert games[first].rounds == []
    third = games.add(PlaneGame(Setup()))
    assert list(games) == [first, third]
    assert second not in games


def test_what_is_not_ready_says_so():
    waiting = Piece("digits", "digits", "images", lambda: None)
    broken = Piece("mnist", "mnist", "images", lambda: None, problem="There is no such data.")
    with serving([waiting, broken]) as address, httpx.Client(base_url=f"{address}/api") as client:
        assert client.get("/runs/digits").status_code == 503
        assert client.get("/runs/mnist").json()["detail"] == "There is no such data."
        assert client.get("/runs/none").status_code == 404
        assert client.get("/digit").json()["ready"] is False
        assert client.post("/digit", json={"pixels": [0] * 784}).status_code == 503
        assert [run["ready"] for run in client.get("/runs").json()] == [False, False]
    with serving() as address:
        assert httpx.get(f"{address}/api/digit").status_code == 404


# -- the schema -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema(address):
    return schemathesis.openapi.from_url(f"{address}/api/openapi.json")


@pytest.mark.slow
def test_the_schema_is_kept_by_whatever_comes(schema):
    """Every route with requests as described, and with others: no error of the server, and answers as described."""
    base = schema.get_base_url().removesuffix("/")
    routes = [found.ok() for found in schema.get_all_operations()]
    assert len(routes) == 16
    for route in routes:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _fuzz(route, mode, base)


def _fuzz(route, mode, base):
    known = {"game": httpx.post(f"{base}/api/games", json={}).json()["id"], "run": "moons", "index": 3}
    places = {name: value for name, value in known.items() if f"{{{name}}}" in route.path} or None
    if mode is GenerationMode.NEGATIVE:
        places = None

    n = 3 if os.environ.get("VOTRON_QUICK") else 6

    @settings(max_examples=n, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=st.data())
    def check(case):
        one = case.draw(route.as_strategy(mode, path_parameters=places))
        answer = one.call(headers={"content-type": "application/json"})
        assert answer.status_code < 500, (route.label, answer.content)
        if answer.status_code in (200, 201, 409):
            one.validate_response(answer, checks=[response_schema_conformance])

    with contextlib.suppress(Unsatisfiable):  # there are routes without anything that could be wrong
        check()


# -- the process ------------------------------------------------------------------------------------------------------


def started(*options):
    """``votron play`` as a process, and its address."""
    command = [sys.executable, "-m", "votron", "play", "--no-browser", "--quiet", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@pytest.mark.slow
def test_a_signal_ends_it_at_once():
    process, address = started()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    with httpx.Client(base_url=address) as client:
        while True:
            try:
                assert client.get("/api/runs").status_code == 200  # and the connection stays open
                break
            except httpx.ConnectError:
                time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_that_is_taken_is_a_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(
            VotronError, match=r"Cannot listen on 127\.0\.0\.1 port \d+: .*\. Choose another with --port\."
        ):
            listening(taken.getsockname()[1])


def test_without_the_extra_it_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for name in [name for name in sys.modules if name.startswith("votron.web")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingPackageError, match=r'pip install "votron\[web\]"'):
        importlib.import_module("votron.web")
