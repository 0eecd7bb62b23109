// The three views, and the address that says which.

import { byId } from "./dom.js";
import { DigitPage } from "./digit.js";
import { Game } from "./game.js";
import { decodeGame } from "./link.js";
import { RunPage } from "./run.js";

const VIEWS = ["game", "run", "digit"];
const views = { game: new Game(), run: new RunPage(), digit: new DigitPage() };

async function show(name) {
  for (const each of VIEWS) {
    const mine = each === name;
    byId(each).hidden = !mine;
    byId(`tab-${each}`).setAttribute("aria-selected", String(mine));
    byId(`tab-${each}`).tabIndex = mine ? 0 : -1;
  }
  if (name !== "game") views.game.stop();
  if (name !== "run") views.run.stop();
  await views[name].start?.();
}

async function open() {
  const [name, code] = location.hash.slice(1).split("=", 2);
  const game = code ? decodeGame(code) : null;
  if (game) {
    const done = await views.game.attempt(() => views.game.begin(game.setup, game.moves));
    if (done) byId("message").textContent = "This is the game of the link. Go on with it.";
  } else if (!views.game.id) {
    await views.game.attempt(() => views.game.begin(views.game.setup));
  }
  await show(VIEWS.includes(name) ? name : "game");
  document.documentElement.dataset.ready = "yes";
}

for (const name of VIEWS) {
  const tab = byId(`tab-${name}`);
  tab.addEventListener("click", () => {
    history.replaceState(null, "", `#${name}`);
    show(name);
  });
  tab.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = VIEWS[(VIEWS.indexOf(name) + by + VIEWS.length) % VIEWS.length];
    byId(`tab-${next}`).focus();
    byId(`tab-${next}`).click();
  });
}
window.addEventListener("hashchange", open);
open();
