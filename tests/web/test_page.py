"""The page in a real browser: what it shows is what the library computes, for mouse, keyboard, eyes and ears."""

import json
import math
import time

import httpx
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsers import DESKTOP, PHONE, needs_browser
from serving import serving

from votron import OnlinePerceptron
from votron.record import labels_of
from votron.web import _game
from votron.web._digit import as_seen
from votron.web._lecture import export_lecture, game_of_link

pytestmark = [needs_browser, pytest.mark.slow]

THREE = [(8, 6), (14, 4), (20, 7), (19, 12), (13, 14), (19, 16), (20, 21), (14, 24), (8, 22)]


class Visit:
    """A page that was opened, and what it complained about."""

    def __init__(self, browser, address, part="", **how):
        self.context = browser.new_context(reduced_motion="reduce", **{**DESKTOP, **how})
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(f"{address}/{part}")
        self.page.wait_for_selector("html[data-ready]")

    def _heard(self, message):
        refused = "409" in message.text or "404" in message.text  # the browser's own line for what the rules forbid
        if message.type in ("error", "warning") and not refused:
            self.complaints.append(message.text)

    def __enter__(self):
        return self.page, self

    def __exit__(self, *_):
        self.context.close()
        assert self.complaints == []


def click(page, x, y, **how):
    """Click on a place of the plane."""
    box = page.locator("#board").bounding_box()
    across, down = box["width"] * (x / 1.6 + 1) / 2, box["height"] * (1 - y / 1.6) / 2
    page.locator("#board").click(position={"x": across, "y": down}, **how)


def place_of(page, x, y):
    box = page.locator("#board").bounding_box()
    return box["x"] + box["width"] * (x / 1.6 + 1) / 2, box["y"] + box["height"] * (1 - y / 1.6) / 2


def numbers(page):
    """k, v and the bound, as the page has them."""
    k = int(page.locator("#k").get_attribute("data-k"))
    v = json.loads(page.locator("#board").get_attribute("data-v"))
    return k, v, float(page.locator("#bound").get_attribute("data-bound"))


def until(page, condition):
    """Wait until a condition holds in the page, asked for from outside: its policy allows no other way."""
    end = time.monotonic() + 20
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def wait_for_rounds(page, n):
    until(page, f"document.querySelectorAll('#rounds tbody tr').length === {n}")


def rounds(page):
    """The examples that the page has sent, from its link."""
    page.click("#share")
    until(page, "location.hash.startsWith('#game=')")
    return game_of_link(page.url)


# -- the game ---------------------------------------------------------------------------------------------------------


def test_a_scripted_game(browser, address):
    with Visit(browser, address) as (page, _):
        for n, (x, y) in enumerate([(0.95, -0.2), (0.0, 0.6), (-0.3, 0.7), (-0.7, 0.1), (0.2, 0.7)], 1):
            click(page, x, y)
            wait_for_rounds(page, n)
        game = rounds(page)
        learner = OnlinePerceptron(target=game.rules.u)
        for move in game.moves:
            learner.update(move.x, move.y)
        k, v, bound = numbers(page)
        assert k == learner.k > 1
        assert v == pytest.approx(learner.v.tolist(), abs=1e-12)
        assert bound == pytest.approx((1 / 0.3) ** 2)
        assert learner.k * 0.3 <= learner.v_dot_u
        until(page, "document.querySelector('#board').dataset.field === 'last 5'")
        assert page.locator("#board .contour").count() == 1
        assert f"After {k} mistakes v·u is" in page.locator("#proof").get_attribute("aria-label")
        page.click("#undo")
        wait_for_rounds(page, 4)
        page.click("#step")
        wait_for_rounds(page, 5)
        page.click("#reset")
        wait_for_rounds(page, 0)
        assert numbers(page)[:2] == (0, [0, 0])


@pytest.mark.parametrize(
    ("place", "rule"), [((1.2, 0.6), "Rule R: ‖x‖ ≤ R."), ((0.1, 0.1), "Rule γ: y (u·x) ≥ γ.")], ids=["R", "γ"]
)
def test_a_broken_rule_is_named(browser, address, place, rule):
    with Visit(browser, address) as (page, _):
        click(page, *place)
        page.wait_for_selector("#refusal:not([hidden])")
        assert rule in page.inner_text("#refusal")
        assert page.locator("#refusal").get_attribute("role") == "alert"
        assert page.locator("#rounds tbody tr").count() == 0
        click(page, 0.5, 0.6)
        wait_for_rounds(page, 1)
        assert page.locator("#refusal").is_hidden()


def test_rules_are_dragged_and_hold_for_what_is_on_the_board(browser, address):
    with Visit(browser, address) as (page, _):

        def drag(handle, to):
            box = page.locator(f"[data-handle={handle}] .handle").bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.mouse.down()
            page.mouse.move(*place_of(page, *to), steps=4)
            page.mouse.up()

        drag("angle", (0.0, 1.0))
        until(page, "Math.abs(document.getElementById('angle').value - 90) <= 1")
        drag("radius", (1.2, 0.0))
        until(page, "Math.abs(document.getElementById('radius').value - 1.2) <= 0.02")
        drag("margin", (-0.5, 0.5))
        until(page, "Math.abs(document.getElementById('margin').value - 0.5) <= 0.02")
        margin, radius = (float(page.input_value(f"#{name}")) for name in ("margin", "radius"))
        assert numbers(page)[2] == pytest.approx((radius / margin) ** 2)
        click(page, 0.3, 0.7)
        wait_for_rounds(page, 1)
        page.fill("#margin", "0.9")
        page.wait_for_selector("#refusal:not([hidden])")
        assert page.locator("#refusal").get_attribute("data-rule") == "γ"
        assert float(page.input_value("#margin")) == margin


def test_the_label_is_named_after_the_prediction(browser, address):
    with Visit(browser, address) as (page, _):
        page.check("input[value=free]")
        until(page, "document.getElementById('auto').disabled")
        for n, (x, y, label) in enumerate([(0.5, 0.5, "plus"), (-0.5, 0.6, "plus"), (0.1, -0.6, "plus")], 1):
            click(page, x, y)
            page.wait_for_selector("#chooser:not([hidden])")
            assert page.inner_text("#chooser-says").startswith("B says")
            page.click(f"#choose-{label}")
            wait_for_rounds(page, n)
            left = "A u is left" if n < 3 else "No u is left that agrees with every label"
            assert left in page.inner_text("#proof-words")
        assert rounds(page).standing().separation is None


def test_kernels_rules_and_noise(browser, address):
    with Visit(browser, address) as (page, _):
        page.select_option("#kernel", "poly")
        until(page, "document.querySelector('input[value=free]').checked")
        for n, (x, y) in enumerate([(0.6, 0.6), (-0.6, 0.6), (-0.6, -0.6), (0.6, -0.6)], 1):
            click(page, x, y)
            page.wait_for_selector("#chooser:not([hidden])")
            page.keyboard.press("+" if x * y > 0 else "-")
            wait_for_rounds(page, n)
        for rule in ("vote", "average", "last"):
            page.check(f"input[name=rule][value={rule}]")
            until(page, f"document.getElementById('board').dataset.field === '{rule} 4'")
        game = rounds(page)
        assert game.setup.kernel.name == "poly"
        assert game.standing().separation is not None
        page.check("input[value=noisy]")
        until(page, "document.querySelectorAll('#rounds tbody tr').length === 0")
        click(page, 0.5, 0.6, modifiers=["Shift"])
        wait_for_rounds(page, 1)
        game = rounds(page)
        assert [move.y for move in game.moves] == [-1]
        assert numbers(page)[2] == pytest.approx(game.standing().bound)
        assert "D" in page.inner_text("#formula")


def test_the_challenge_and_the_automatic_player(browser, address):
    with Visit(browser, address) as (page, _):
        page.click("[data-level='0.7']")
        until(page, "document.getElementById('challenge').textContent.includes('The bound: 2')")
        for n in (1, 2):
            page.click("#auto")
            wait_for_rounds(page, n)
        assert "You have reached the bound!" in page.inner_text("#challenge")
        page.click("#auto")
        until(page, "document.getElementById('message').textContent.includes('the game is over')")


def test_a_link_brings_the_game_back(browser, address):
    with Visit(browser, address) as (page, _):
        for n in (1, 2, 3):
            page.click("#auto")
            wait_for_rounds(page, n)
        game, link = rounds(page), page.url
        before = numbers(page)
    with Visit(browser, address, link.removeprefix(f"{address}/")) as (page, _):
        wait_for_rounds(page, 3)
        assert numbers(page) == before
        assert rounds(page).moves == game.moves


def test_a_game_that_was_forgotten_is_begun_again(browser, monkeypatch):
    with serving() as address, Visit(browser, address) as (page, _):
        click(page, 0.5, 0.6)
        wait_for_rounds(page, 1)
        monkeypatch.setattr(_game, "MOST_GAMES", 0)
        httpx.post(f"{address}/api/games", json={})
        monkeypatch.undo()
        click(page, 0.4, 0.7)
        wait_for_rounds(page, 2)


def test_the_keyboard_is_enough(browser, address):
    with Visit(browser, address) as (page, _):
        page.focus("#board")
        for key in ["ArrowUp"] * 12 + ["ArrowRight"] * 6:
            page.keyboard.press(key)
        assert "(0.3, 0.6)" in page.inner_text("#message")
        page.keyboard.press("Enter")
        wait_for_rounds(page, 1)
        assert rounds(page).moves[0].x == [0.3, 0.6]
        page.keyboard.press("z")
        wait_for_rounds(page, 0)
        page.focus("#tab-game")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#run-stage:not([hidden])")
        assert page.evaluate("document.activeElement.id") == "tab-run"
        until(page, "document.querySelector('#run-slider').dataset.time")
        page.focus("#run-slider")
        before = int(page.input_value("#run-slider"))
        page.keyboard.press("ArrowRight")
        assert int(page.input_value("#run-slider")) == before + 1


# -- the run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["moons", "digits"])
def test_the_slider_shows_the_errors_of_that_moment(browser, address, workshop, name):
    trained = workshop[name].trained
    model, record = trained.model, trained.model.record_
    with Visit(browser, address, "#run") as (page, _):
        page.wait_for_selector("#run-stage:not([hidden])")
        page.select_option("#run-choice", name)
        until(page, "document.querySelector('#run-slider').dataset.time")
        shown = "#run-images:not([hidden]) canvas" if name == "digits" else "#run-board .now"
        page.wait_for_selector(shown)
        for index in (2, 40):
            page.fill("#run-slider", str(index))
            overview = httpx.get(f"{address}/api/runs/{name}").json()
            moment = overview["times"][index]
            until(page, f"document.querySelector('#run-slider').dataset.time === '{moment}'")
            found = {
                entry.get_attribute("data-rule"): float(entry.get_attribute("data-error"))
                for entry in page.locator("#run-key li").all()
            }
            rules = list(found)
            assert {"vote", "average", "last", "random"} <= set(rules)
            ((_, scores),) = model.staged_decision_function(trained.X, at=[moment / record.n_examples], rules=rules)
            codes = np.searchsorted(model.classes_, trained.y)
            for rule in rules:
                assert found[rule] == pytest.approx(float(np.mean(labels_of(scores[rule]) != codes)), abs=1e-12)
            j = int(np.flatnonzero(record.time == moment)[0])
            assert f"Example {record.example[j]}" in page.inner_text("#run-made")
            assert page.inner_text("#run-k") == str(int((record.time <= moment).sum()))
            newest = page.locator("#run-chips li.newest").first
            assert int(newest.get_attribute("data-survival")) == record.survival[j]


# -- the digit --------------------------------------------------------------------------------------------------------


def test_a_digit_is_drawn_and_voted_on(browser, address, workshop):
    trained = workshop["digits"].trained
    with Visit(browser, address, "#digit") as (page, _):
        page.wait_for_selector("#digit-stage:not([hidden])")
        box = page.locator("#pad").bounding_box()
        places = [(box["x"] + box["width"] * a / 28, box["y"] + box["height"] * b / 28) for a, b in THREE]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=5)
        page.mouse.up()
        until(page, "document.getElementById('digit-label').textContent === '3'")
        page.wait_for_timeout(200)  # the last answer
        pixels = page.evaluate(
            "Array.from(document.getElementById('pad').getContext('2d').getImageData(0, 0, 28, 28).data)"
            ".filter((_, i) => i % 4 === 0).map((grey) => 255 - grey)"
        )
        row = as_seen(pixels, trained.shape, 16.0)[None]
        votes = trained.model.with_rule("vote").decision_function(row)[0]
        bars = [float(bar.get_attribute("data-score")) for bar in page.locator("#bars > div").all()]
        assert bars == pytest.approx(votes.tolist(), abs=1e-12)
        assert page.locator("#bars .winner").get_attribute("data-class") == "3"
        assert page.locator("#digit-rules tbody tr").count() >= 5
        assert page.locator("#reasons canvas").count() == 10
        assert "Of 200 perceptrons in order of birth" in page.locator("#history").get_attribute("aria-label")
        page.click("#pad-clear")
        assert page.inner_text("#digit-label") == "?"
        page.click("#pad-sample")
        until(page, "document.getElementById('digit-label').textContent !== '?'")


def test_a_digit_is_drawn_with_a_finger_and_with_keys(browser, address):
    with Visit(browser, address, "#digit", **PHONE) as (page, _):
        page.wait_for_selector("#digit-stage:not([hidden])")
        page.locator("#pad").tap()
        until(page, "document.getElementById('digit-label').textContent !== '?'")
        page.click("#pad-clear")
        page.focus("#pad")
        for key in [" ", *["ArrowDown"] * 8]:
            page.keyboard.press(key)
        until(page, "document.getElementById('digit-label').textContent !== '?'")


# -- everybody --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)], ids=["desktop", "phone"])
def test_nothing_keeps_people_out(browser, address, scheme, size):
    """axe-core finds nothing in any view; nothing is wider than the screen."""
    with Visit(browser, address, color_scheme=scheme, **size) as (page, _):
        click(page, 0.5, 0.6)
        wait_for_rounds(page, 1)
        click(page, 1.2, 0.9)
        page.wait_for_selector("#refusal:not([hidden])")
        for view in ("game", "run", "digit"):
            page.click(f"#tab-{view}")
            if view != "game":
                page.wait_for_selector(f"#{view}-stage:not([hidden])")
            if view == "digit":
                page.click("#pad-sample")
                page.wait_for_selector("#reasons canvas")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_one_file_replays_games_and_a_run(browser, workshop, tmp_path):
    path = tmp_path / "lecture.html"
    assert export_lecture(str(path), workshop["moons"]) == path.stat().st_size < 5_000_000
    record = workshop["moons"].trained.model.record_
    with Visit(browser, "file:/", str(path)) as (page, _):
        titles = page.locator("#game-choice option").all_inner_texts()
        assert len(titles) == 4
        assert titles[0] == "A forces what it can, γ = 0.3: 6 of 11.1"
        page.fill("#game-slider", "6")
        assert page.inner_text("#k") == "6"
        assert "A has lost" in page.inner_text("#proof-words")
        page.fill("#run-slider", "5")
        assert page.inner_text("#run-k") == "6"
        assert f"Example {record.example[5]}" in page.inner_text("#run-made")
        page.click("#game-play")
        until(page, "document.getElementById('game-slider').value !== '6'")
        assert Axe().run(page).violations_count == 0
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0
        assert math.isfinite(float(page.locator("#bound").get_attribute("data-bound")))
