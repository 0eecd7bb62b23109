// The game: what the player does is sent, what comes back is drawn.

import { ask, Refused } from "./api.js";
import { byId, calm, element, latestOnly, pair, plural, shown, signed } from "./dom.js";
import { paintField } from "./field.js";
import { encodeGame } from "./link.js";
import { Plane } from "./plane.js";
import { drawProof } from "./proof.js";
import { drawScore, roundWords } from "./score.js";

const STANDARD = { mode: "strict", angle: 53, margin: 0.3, radius: 1, kernel: { name: "linear", degree: 2, gamma: 2 } };
const AUTO_PAUSE = 420;
const NUDGE = 3; // pixels that a pointer may move in a click
const HELP = {
  strict: "Drag u, γ and R; click to give an example: its label is the side of u.",
  noisy: "Click to give an example; choose its label beside the board, or hold Shift for the wrong one.",
  free: "Click to give an example, hear what B says, and name its label.",
};

export class Game {
  constructor() {
    this.plane = new Plane(byId("board"));
    this.setup = structuredClone(STANDARD);
    this.rounds = [];
    this.standing = null;
    this.cursor = null;
    this.rule = "last";
    this.refreshField = latestOnly(() => this.fetchField());
    this.sendSetup = latestOnly((setup) => this.change(setup));
    this.listen();
  }

  // -- the server ----------------------------------------------------------------------------------------------------

  async begin(setup, moves = []) {
    this.accept(await ask("POST", "/games", { setup, moves }));
    byId("challenge").textContent = this.setup.mode === "strict" ? "Place examples so that B errs as often as it can." : "";
  }

  /** Ask about this game; where the server has forgotten it, begin it again from its moves. */
  async about(method, path, body) {
    try {
      return await ask(method, `/games/${this.id}${path}`, body);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      const again = await ask("POST", "/games", { setup: this.setup, moves: this.moves });
      this.id = again.id;
      return ask(method, `/games/${this.id}${path}`, body);
    }
  }

  get moves() {
    return this.rounds.map(({ x, y }) => ({ x, y }));
  }

  accept(state) {
    this.id = state.id;
    this.setup = state.setup;
    this.rounds = [...this.rounds.slice(0, state.first), ...state.rounds];
    this.standing = state.standing;
    this.draw();
    this.refreshField();
  }

  /** Do something that may be refused; say so where it is. */
  async attempt(work, place = null) {
    byId("refusal").hidden = true;
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      byId("refusal").textContent = error.message;
      byId("refusal").dataset.rule = error.rule ?? "";
      byId("refusal").hidden = false;
      if (place) this.plane.put("cursor", this.plane.ring(place, "refused", 12), this.plane.mark(place, -1, "refused"));
      return false;
    }
  }

  async fetchField() {
    if (!this.id || !this.standing?.k) {
      paintField(byId("board-field"), null);
      this.plane.drawBoundary(null);
      return;
    }
    const field = await this.about("GET", `/field?rule=${this.rule}`);
    paintField(byId("board-field"), field);
    this.plane.drawBoundary(field);
    byId("board").dataset.field = `${this.rule} ${this.rounds.length}`;
  }

  // -- moves ---------------------------------------------------------------------------------------------------------

  give(place, contrary = false) {
    const x = place.map((value) => Math.round(1000 * value) / 1000);
    if (this.setup.mode === "free") return this.askLabel(x);
    return this.attempt(() => this.send(x, this.labelFor(x, contrary)), x);
  }

  labelFor(x, contrary) {
    if (this.setup.mode !== "noisy") return null;
    const typed = byId("label").value;
    if (typed !== "u") return Number(typed);
    if (!contrary) return null;
    const [a, b] = this.target;
    return a * x[0] + b * x[1] >= 0 ? -1 : 1;
  }

  async send(x, y) {
    this.accept(await this.about("POST", "/examples", { x, y }));
    this.say();
    this.animate();
  }

  async askLabel(x) {
    await this.attempt(async () => {
      const { prediction } = await this.about("GET", `/prediction?x=${x[0]}&y=${x[1]}`);
      const box = byId("chooser");
      const [a, b] = this.plane.toScreen(x);
      byId("chooser-says").textContent = `B says ${signed(prediction)}. It is`;
      box.style.left = `${Math.min(78, Math.max(22, 50 + a / 4))}%`;
      box.style.top = `${50 + b / 4}%`;
      box.classList.toggle("above", b > 100);
      box.hidden = false;
      this.pending = x;
      this.plane.put("cursor", this.plane.ring(x, "ask", 8));
      byId(prediction > 0 ? "choose-minus" : "choose-plus").focus({ preventScroll: true });
    }, x);
  }

  async choose(y) {
    byId("chooser").hidden = true;
    const x = this.pending;
    this.pending = null;
    this.plane.put("cursor");
    if (x && y) await this.attempt(() => this.send(x, y), x);
    byId("board").focus({ preventScroll: true });
  }

  async act(path, body = {}) {
    return this.attempt(async () => {
      const before = this.rounds.length;
      this.accept(await this.about("POST", path, body));
      if (this.rounds.length > before) {
        this.say();
        this.animate();
      } else if (this.rounds.length < before) {
        byId("message").textContent = `Taken back: ${plural(this.rounds.length, "round")} played.`;
      } else {
        this.stop();
        byId("message").textContent = path === "/auto" ? "The automatic A finds no example that B would err on: the game is over." : "There is nothing on the board yet.";
      }
    });
  }

  async change(setup) {
    const before = this.setup;
    const done = await this.attempt(async () => this.accept(await this.about("PUT", "/setup", setup)));
    if (!done) {
      this.setup = before;
      this.draw();
    }
  }

  stop() {
    clearTimeout(this.timer);
    byId("autoplay").setAttribute("aria-pressed", "false");
    this.playing = false;
  }

  async autoplay() {
    if (this.playing) return this.stop();
    this.playing = true;
    byId("autoplay").setAttribute("aria-pressed", "true");
    const next = async () => {
      if (!this.playing) return;
      if (!(await this.act("/auto", { n: 1 }))) return this.stop();
      if (this.playing) this.timer = setTimeout(next, AUTO_PAUSE);
    };
    return next();
  }

  // -- pictures ------------------------------------------------------------------------------------------------------

  get target() {
    const turn = (this.setup.angle * Math.PI) / 180;
    return [Math.cos(turn), Math.sin(turn)];
  }

  get rules() {
    const { mode, margin, radius } = this.setup;
    if (mode !== "free") return { mode, u: this.target, margin, radius };
    const found = this.standing?.separation;
    return { mode, u: found?.u ?? null, margin: found?.margin ?? 0, radius, found: true };
  }

  draw() {
    const { plane, standing } = this;
    plane.drawRules(this.rules);
    plane.drawHandles(this.setup.mode === "free" ? null : this.rules);
    plane.drawExamples(this.rounds);
    plane.drawGuess(this.rounds);
    plane.put("cursor");
    drawProof(byId("proof"), standing);
    drawScore(standing);
    this.drawButtons();
    this.drawTable();
    this.showSetup();
  }

  animate() {
    const last = this.rounds.at(-1);
    if (!last?.mistake || !last.v || calm()) return;
    const began = performance.now();
    const frame = (now) => {
      const share = Math.min(1, (now - began) / 380);
      if (this.rounds.at(-1) !== last) return;
      this.plane.drawGuess(this.rounds, { share: 1 - (1 - share) ** 3 });
      if (share < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  drawButtons() {
    const v = this.rounds.findLast((round) => round.v)?.v ?? [0, 0];
    byId("board").dataset.v = JSON.stringify(v);
    byId("undo").disabled = byId("step").disabled = this.rounds.length === 0;
    byId("auto").disabled = byId("autoplay").disabled = this.setup.mode === "free";
  }

  drawTable() {
    const rows = this.rounds.map((round) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, String(round.t)),
        element("td", {}, pair(round.x)),
        element("td", {}, signed(round.y)),
        element("td", {}, signed(round.prediction)),
        element("td", { class: round.mistake ? "made" : "" }, round.mistake ? `mistake ${round.k}` : "right"),
        element("td", {}, round.v ? pair(round.v) : "in feature space"),
      ),
    );
    byId("rounds").tBodies[0].replaceChildren(...rows);
  }

  say() {
    const last = this.rounds.at(-1);
    const message = byId("message");
    message.textContent = roundWords(last);
    message.classList.toggle("mistake", last.mistake);
    this.judge();
  }

  async judge() {
    if (!this.par || this.setup.mode !== "strict") return;
    const { k, sentence } = this.standing;
    const { mistakes, bound } = this.par;
    const end = k >= bound ? "You have reached the bound!" : k >= mistakes ? "As many as the automatic A!" : sentence ? "The game is over: B errs on nothing that is left." : "";
    byId("challenge").textContent = `You: ${k}. The automatic A: ${mistakes}. The bound: ${bound}. ${end}`;
  }

  showSetup() {
    const { mode, angle, margin, radius, kernel } = this.setup;
    const values = { angle, margin, radius, degree: kernel.degree, gamma: kernel.gamma };
    for (const [name, value] of Object.entries(values)) {
      byId(name).value = value;
      byId(`${name}-value`).textContent = name === "angle" ? `${shown(value)}°` : shown(value);
    }
    byId("margin").max = radius;
    for (const radio of document.querySelectorAll("input[name=mode]")) radio.checked = radio.value === mode;
    byId("kernel").value = kernel.name;
    const visible = { angle: mode !== "free", margin: mode !== "free", label: mode === "noisy", degree: kernel.name === "poly", gamma: kernel.name === "rbf" };
    for (const [name, yes] of Object.entries(visible)) document.querySelector(`[data-for=${name}]`).hidden = !yes;
    byId("challenge-box").hidden = mode !== "strict";
    byId("board-help-text").textContent = HELP[mode];
  }

  // -- what the player does ------------------------------------------------------------------------------------------

  listen() {
    this.listenToBoard();
    this.listenToKeys();
    this.listenToSettings();
    const clicks = {
      undo: () => this.act("/undo"),
      step: () => this.act("/again"),
      auto: () => this.act("/auto", { n: 1 }),
      autoplay: () => this.autoplay(),
      reset: () => this.restart(this.setup),
      share: () => this.share(),
      "choose-plus": () => this.choose(1),
      "choose-minus": () => this.choose(-1),
      "choose-none": () => this.choose(null),
    };
    for (const [id, work] of Object.entries(clicks)) byId(id).addEventListener("click", work);
    for (const button of document.querySelectorAll("[data-level]")) {
      button.addEventListener("click", () => this.challenge(Number(button.dataset.level)));
    }
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refreshField());
  }

  async restart(setup) {
    this.stop();
    this.par = null;
    await this.attempt(() => this.begin(setup));
    byId("message").textContent = "A new game. Give an example.";
    byId("message").classList.remove("mistake");
  }

  async challenge(margin) {
    await this.restart({ ...STANDARD, margin, angle: this.setup.angle });
    await this.attempt(async () => {
      this.par = await this.about("GET", "/par");
    });
    this.judge();
  }

  async share() {
    const address = `${location.origin}${location.pathname}#game=${encodeGame(this.setup, this.moves)}`;
    history.replaceState(null, "", address);
    const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    byId("message").textContent = copied ? "The link is copied: whoever opens it sees this game." : "The link to this game is now in the address bar.";
  }

  listenToBoard() {
    const board = byId("board");
    let held = null; // the handle, and where it was taken hold of
    board.addEventListener("pointerdown", (event) => {
      const handle = event.target.closest("[data-handle]")?.dataset.handle ?? null;
      held = { handle, from: [event.clientX, event.clientY], moved: false };
      if (handle) board.setPointerCapture(event.pointerId);
    });
    board.addEventListener("pointermove", (event) => {
      if (!held?.handle) return;
      held.moved ||= Math.hypot(event.clientX - held.from[0], event.clientY - held.from[1]) > NUDGE;
      board.classList.toggle("dragging", held.moved);
      if (held.moved) this.drag(held.handle, this.plane.placeOf(event));
    });
    board.addEventListener("pointerup", (event) => {
      board.classList.remove("dragging");
      const dragged = held?.moved ?? true;
      held = null;
      if (!dragged && event.button === 0) this.give(this.plane.placeOf(event), event.shiftKey);
    });
    board.addEventListener("pointercancel", () => {
      held = null;
    });
  }

  drag(which, place) {
    const [u, setup] = [this.target, { ...this.setup }];
    const round = (value, low, high) => Math.round(100 * Math.min(high, Math.max(low, value))) / 100;
    if (which === "angle") setup.angle = Math.round((Math.atan2(place[1], place[0]) * 180) / Math.PI);
    if (which === "radius") setup.radius = round(Math.hypot(...place), 0.2, 1.5);
    if (which === "margin") setup.margin = round(Math.abs(u[0] * place[0] + u[1] * place[1]), 0.05, setup.radius);
    setup.margin = Math.min(setup.margin, setup.radius);
    this.sendSetup(setup);
  }

  listenToKeys() {
    const board = byId("board");
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    board.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in steps) {
        event.preventDefault();
        const size = event.shiftKey ? 0.2 : 0.05;
        const [a, b] = this.cursor ?? [0, 0];
        const reach = (value) => Math.min(1.55, Math.max(-1.55, Math.round(100 * value) / 100));
        this.cursor = [reach(a + size * steps[event.key][0]), reach(b + size * steps[event.key][1])];
        this.drawCursor();
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.give(this.cursor ?? [0, 0], event.shiftKey).then(() => this.pending ?? this.drawCursor());
      }
    });
    byId("chooser").addEventListener("keydown", (event) => {
      const named = { "+": 1, "=": 1, "-": -1, Escape: null };
      if (event.key in named) this.choose(named[event.key]);
    });
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey;
      if (typing || byId("game").hidden) return;
      const button = { z: "undo", s: "step", a: "auto", p: "autoplay" }[event.key];
      if (button) byId(button).click();
    });
  }

  drawCursor() {
    if (!this.cursor || !byId("refusal").hidden) return;
    const [a, b] = this.cursor;
    const arms = [[[a - 0.12, b], [a + 0.12, b]], [[a, b - 0.12], [a, b + 0.12]]];
    const cross = arms.map(([from, to]) => this.plane.line(from, to, { class: "cross" }));
    this.plane.put("cursor", this.plane.ring(this.cursor, "cross", 9), ...cross);
    byId("message").textContent = `The cross is at ${pair(this.cursor)}.`;
  }

  listenToSettings() {
    for (const name of ["angle", "margin", "radius"]) {
      byId(name).addEventListener("input", () => {
        const setup = { ...this.setup, [name]: Number(byId(name).value) };
        setup.margin = Math.min(setup.margin, setup.radius);
        this.sendSetup(setup);
      });
    }
    for (const radio of document.querySelectorAll("input[name=mode]")) {
      radio.addEventListener("change", () => {
        const kernel = radio.value === "free" ? this.setup.kernel : STANDARD.kernel;
        this.restart({ ...this.setup, mode: radio.value, kernel });
      });
    }
    const kernel = () => {
      const chosen = { name: byId("kernel").value, degree: Number(byId("degree").value), gamma: Number(byId("gamma").value) };
      const mode = chosen.name === "linear" ? this.setup.mode : "free";
      const setup = { ...this.setup, mode, kernel: chosen };
      return mode === this.setup.mode ? this.sendSetup(setup) : this.restart(setup);
    };
    for (const name of ["kernel", "degree", "gamma"]) byId(name).addEventListener("input", kernel);
    for (const radio of document.querySelectorAll("input[name=rule]")) {
      radio.addEventListener("change", () => {
        this.rule = radio.value;
        this.refreshField();
      });
    }
  }
}
