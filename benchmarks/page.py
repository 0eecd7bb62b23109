"""The page: many games at once on loopback, the first paint, and how long a move takes in the browser.

``python -m benchmarks.page`` starts ``votron play``, plays 200 games at once for a minute, each with a move every half
second, and then opens the page in Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

MARGIN = 0.2
MOST_ROUNDS = 250
PAINTS = 5
MOVES = 60


class Connection:
    """One connection that stays open: requests one after another, as a browser sends them."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} /api{path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        self.writer.write(head.encode() + content)
        await self.writer.drain()
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next(int(line[15:]) for line in answer.lower().split("\r\n") if line.startswith("content-length:"))
        return int(answer.split(" ", 2)[1]), await self.reader.readexactly(length)


def example(rng: random.Random, margin: float = MARGIN) -> list[float]:
    """An example that the rules allow, with u upright."""
    while True:
        a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
        if math.hypot(a, b) < 0.99 and abs(b) > margin + 0.01:
            return [round(a, 3), round(b, 3)]


async def play(
    number: int, host: str, port: int, until: float, pause: float, taken: list[float], seen: Counter[int]
) -> None:
    """Play games one after another until the time is over."""
    rng, connection = random.Random(number), Connection(host, port)
    await connection.open()
    setup = {"setup": {"angle": 90, "margin": MARGIN}}
    await asyncio.sleep(rng.uniform(0, pause))
    while time.monotonic() < until:
        status, body = await connection.ask("POST", "/games", setup)
        seen[status] += 1
        where = f"/games/{json.loads(body)['id']}"
        for _ in range(MOST_ROUNDS):
            if time.monotonic() >= until:
                break
            choice = rng.random()
            began = time.perf_counter()
            if choice < 0.8:
                status, _ = await connection.ask("POST", f"{where}/examples", {"x": example(rng)})
            elif choice < 0.9:
                status, _ = await connection.ask("POST", f"{where}/auto", {"n": 1})
            else:
                status, _ = await connection.ask("POST", f"{where}/undo", {})
            taken.append(time.perf_counter() - began)
            seen[status] += 1
            await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
        await connection.ask("GET", where)
    connection.writer.close()


async def crowd(host: str, port: int, games: int, seconds: float, pause: float) -> tuple[list[float], Counter[int]]:
    taken: list[float] = []
    seen: Counter[int] = Counter()
    until = time.monotonic() + seconds
    await asyncio.gather(*(play(n, host, port, until, pause, taken, seen) for n in range(games)))
    return taken, seen


def in_browser(address: str) -> dict[str, float]:
    """Times of the first paint and of moves in Chromium, in milliseconds: medians."""
    from playwright.sync_api import sync_playwright

    paints, answers, drawn = [], [], []
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for _ in range(PAINTS):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        rng = random.Random(0)
        page.evaluate("scrollTo(0, 0)")
        box = page.locator("#board").bounding_box()
        assert box is not None
        while len(answers) < MOVES:
            page.evaluate("performance.clearResourceTimings()")
            a, b = example(rng, margin=0.3)
            x = [0.8 * a + 0.6 * b, -0.6 * a + 0.8 * b]  # the page's own u stands at 53 degrees
            began = page.evaluate("performance.now()")
            page.mouse.click(
                box["x"] + box["width"] * (x[0] / 3.2 + 0.5), box["y"] + box["height"] * (0.5 - x[1] / 3.2)
            )
            page.wait_for_timeout(100)
            sent = page.evaluate(
                "performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/examples'))"
                ".map((e) => [e.responseEnd - e.startTime, e.responseEnd])"
            )
            if sent:  # the place was no handle
                answers.append(sent[0][0])
                drawn.append(sent[0][1] - began)
        browser.close()
    return {
        "first_paint": statistics.median(paints),
        "answer": statistics.median(answers),
        "from_click": statistics.median(drawn),
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    options.add_argument("--games", type=int, default=200, metavar="N", help="games at once (default: %(default)s)")
    options.add_argument("--seconds", type=float, default=60, metavar="S", help="how long (default: %(default)s)")
    options.add_argument("--pause", type=float, default=0.5, metavar="S", help="between moves (default: %(default)s)")
    options.add_argument("--no-browser", action="store_true", help="only the games")
    args = options.parse_args()
    command = [sys.executable, "-m", "votron", "play", "--no-browser", "--quiet"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        place = urlsplit(address)
        time.sleep(8)  # the models of the page are trained meanwhile
        taken, seen = asyncio.run(crowd(place.hostname or "", place.port or 0, args.games, args.seconds, args.pause))
        taken.sort()
        at = {
            name: 1000 * taken[min(len(taken) - 1, int(share * len(taken)))]
            for name, share in (("median", 0.5), ("p99", 0.99))
        }
        failed = sum(n for status, n in seen.items() if status >= 400)
        print(f"{args.games} games at once for {args.seconds:g} s: {len(taken):,} moves, {failed} errors")
        print(f"median {at['median']:.1f} ms, p99 {at['p99']:.1f} ms, slowest {1000 * taken[-1]:.1f} ms")
        if not args.no_browser:
            found = in_browser(address)
            print(f"first paint {found['first_paint']:.0f} ms (median of {PAINTS})")
            moved = f"{found['answer']:.1f} ms after it is sent, {found['from_click']:.1f} ms after the click"
            print(f"a move is answered {moved}")
    finally:
        server.terminate()
        server.wait(10)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
