"""The report in a real browser: on a phone and a desktop, light and dark, and on paper."""

import io
import itertools
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsers import DESKTOP, PHONE, browsing, needs_browser
from PIL import Image
from report_models import TABLES, train_models

from votron.cli import main

pytestmark = [needs_browser, pytest.mark.slow]


NARROW = {**PHONE, "viewport": {"width": 360, "height": 780}}
PAGES = {
    "birds": ["birds.votron", str(TABLES / "birdstrikes.csv"), "--held-out"],
    "linear": ["linear.votron", str(TABLES / "birdstrikes.csv"), "--held-out"],
    "penguins": ["penguins.votron", str(TABLES / "penguins.csv"), "--missing", "drop", "--drop-unlabelled"],
    "digits": ["digits.votron", "digits", "--part", "test"],
    "certified": ["certified.votron", "digits", "--part", "test"],
}
CONTRASTS = """() => {
    // How far each text and line of a figure is from the ground of the page, as WCAG counts it.
    const lightness = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const linear = parts.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const ground = lightness(getComputedStyle(document.body).backgroundColor);
    const contrast = (colour) => {
        const [low, high] = [ground, lightness(colour)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const found = {text: [], line: []};
    for (const text of document.querySelectorAll("svg.figure text"))
        found.text.push([contrast(getComputedStyle(text).fill), text.textContent]);
    for (const line of document.querySelectorAll("svg.figure path")) {
        const style = getComputedStyle(line);
        if (parseFloat(style.strokeWidth) >= 1.5 && style.stroke !== "none")
            found.line.push([contrast(style.stroke), style.stroke]);
    }
    return found;
}"""
CUT = """() => [...document.querySelectorAll("svg.figure text")].filter((text) => {
    const box = text.getBoundingClientRect(), whole = text.closest("svg").getBoundingClientRect();
    return box.left < whole.left - 1 || box.right > whole.right + 1 || box.top < whole.top - 1 ||
        box.bottom > whole.bottom + 1;
}).map((text) => text.textContent)"""


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    out = tmp_path_factory.mktemp("pages")
    train_models(out)
    for name, (model, *command) in PAGES.items():
        assert main(["report", str(out / model), *command, "-o", str(out / f"{name}.html"), "--quiet"]) == 0
    return {name: (out / f"{name}.html").as_uri() for name in PAGES}


class Visit:
    """A page that was opened, what it complained about, and what it asked for."""

    def __init__(self, browser, address, **how):
        self.context = browser.new_context(**how)
        self.page, self.complaints, self.asked = self.context.new_page(), [], []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert self.complaints == []
            assert [url for url in self.asked if not url.startswith("data:image/png;base64,")] == self.asked[:1]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    ("size", "scheme"),
    [(DESKTOP, "light"), (PHONE, "dark"), (NARROW, "light")],  # places depend on one, colours on the other
    ids=["desktop-light", "phone-dark", "narrow-light"],
)
def test_nothing_keeps_people_out(browser, addresses, name, scheme, size):
    """axe-core finds nothing, nothing is wider than the screen or cut, and figures stand out from the ground."""
    with Visit(browser, addresses[name], color_scheme=scheme, **size) as page:
        # A phone shows a page that is too wide from further off: its innerWidth grows, and is no measure.
        assert page.evaluate("document.documentElement.scrollWidth") <= size["viewport"]["width"]
        found = page.evaluate(CONTRASTS)
        assert (found["text"] != []) == (found["line"] != []) == (page.locator("svg.figure").count() > 0)
        assert [each for each in found["text"] if each[0] < 4.5] == []
        assert [each for each in found["line"] if each[0] < 3] == []
        assert page.evaluate(CUT) == []
        for figure in page.locator("svg.figure").all():
            box = figure.bounding_box()
            assert box["width"] > 250
            assert box["height"] > 150
        levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
        assert levels[0] == levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
        assert page.evaluate("[...document.images].every((image) => image.alt)")
        axe = Axe()
        page.evaluate("1")  # the policy allows no scripts of the page; the driver's own are run
        violations = axe.run(page)
        assert violations.violations_count == 0, violations.generate_report()


def test_the_policy_forbids_scripts_and_the_network(browser, addresses, tmp_path):
    """Whatever got into a page is not run, and fetches nothing."""
    text = Path(addresses["penguins"].removeprefix("file://")).read_text(encoding="utf-8")
    evil = '<script>document.title = "run"</script><img src="http://127.0.0.1:9/x.png" onerror="document.title = 1">'
    path = tmp_path / "evil.html"
    path.write_text(text.replace("</main>", f"{evil}</main>"), encoding="utf-8")
    context = browser.new_context()
    page, heard, failed = context.new_page(), [], []
    page.on("console", lambda message: heard.append(message.text))
    page.on("requestfailed", lambda request: failed.append(request.failure))
    page.goto(path.as_uri())
    assert page.title() == "penguins.votron on penguins.csv"
    assert any("script" in each for each in heard)
    assert failed == ["csp"]
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_on_paper(browser, addresses, name):
    """Black on white also where the screen is dark; no page is empty, and no figure, card or image is cut."""
    with Visit(browser, addresses[name], color_scheme="dark", **DESKTOP) as page:
        content = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm"))
        n_pages = len(re.findall(rb"/Type\s*/Page\b", content))
        assert 3 <= n_pages <= 9
        page.emulate_media(media="print", color_scheme="dark")
        page.set_viewport_size({"width": 680, "height": 1009})  # what A4 leaves within these margins, at 96 dpi
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 36, 48)"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(CUT) == []
        assert not page.locator("nav").is_visible()
        corner = Image.open(io.BytesIO(page.screenshot(clip={"x": 0, "y": 0, "width": 4, "height": 4})))
        assert corner.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
        kept = page.evaluate(
            "[...document.querySelectorAll('svg.figure, .card, .sheet li, tr')]"
            ".map((each) => [getComputedStyle(each).breakInside, each.getBoundingClientRect().height])"
        )
        assert {way for way, _ in kept} == {"avoid"}
        assert max(height for _, height in kept) < 1009
        height = page.evaluate("document.documentElement.scrollHeight")
        assert n_pages <= height / 1009 * 1.6 + 1  # little room is lost for what is kept whole
