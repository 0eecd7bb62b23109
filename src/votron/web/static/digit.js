// The drawing pad, and what the model says of the drawing.

import { ask } from "./api.js";
import { byId, colour, element, latestOnly, paintPixels, percent, plural, signed } from "./dom.js";

const SIDE = 28;
const BRUSH = 1.15;

export class DigitPage {
  constructor() {
    this.pad = byId("pad");
    this.ink = new Float32Array(SIDE * SIDE);
    this.truth = null; // the label of a test digit, until somebody draws
    this.ask = latestOnly(() => this.answer());
    this.listen();
    this.paint();
  }

  async start() {
    const model = await ask("GET", "/digit").catch((error) => ({ problem: error.message }));
    const status = byId("digit-status");
    if (model.problem) {
      status.textContent = model.problem;
      return;
    }
    if (!model.ready) {
      status.textContent = `Training a model: ${model.title}…`;
      setTimeout(() => this.start(), 200);
      return;
    }
    status.hidden = true;
    byId("digit-stage").hidden = false;
    this.model = model;
    byId("digit-model").textContent = `${model.title}: ${plural(model.n_mistakes, "mistake")} in training, on ${plural(model.n_support, "image")}.`;
    this.drawBars(model.classes.map(() => -1), null, null);
    if (this.ink.some((value) => value > 0)) this.ask();
  }

  // -- drawing -------------------------------------------------------------------------------------------------------

  paint() {
    const image = new ImageData(SIDE, SIDE);
    this.ink.forEach((value, i) => {
      const grey = 255 - Math.round(255 * value);
      image.data.set([grey, grey, grey, 255], 4 * i);
    });
    if (this.brush) {
      const at = 4 * (Math.floor(this.brush[1]) * SIDE + Math.floor(this.brush[0]));
      image.data.set([31, 78, 156, 255], at);
    }
    this.pad.getContext("2d").putImageData(image, 0, 0);
    byId("pad-hint").hidden = this.ink.some((value) => value > 0);
  }

  dab(a, b) {
    for (let y = Math.max(0, Math.floor(b - 3)); y < Math.min(SIDE, b + 3); y += 1) {
      for (let x = Math.max(0, Math.floor(a - 3)); x < Math.min(SIDE, a + 3); x += 1) {
        const far = Math.hypot(x + 0.5 - a, y + 0.5 - b);
        const value = Math.max(0, Math.min(1, BRUSH + 0.5 - far));
        this.ink[y * SIDE + x] = Math.max(this.ink[y * SIDE + x], value);
      }
    }
  }

  stroke(to) {
    this.truth = null;
    const from = this.at ?? to;
    const steps = Math.max(1, Math.ceil(2 * Math.hypot(to[0] - from[0], to[1] - from[1])));
    for (let i = 0; i <= steps; i += 1) this.dab(from[0] + (i / steps) * (to[0] - from[0]), from[1] + (i / steps) * (to[1] - from[1]));
    this.at = to;
    this.paint();
    this.ask();
  }

  clear() {
    this.truth = null;
    this.ink.fill(0);
    this.paint();
    byId("digit-label").textContent = "?";
    byId("digit-words").textContent = "Draw, and the perceptrons vote.";
    this.drawBars(this.model.classes.map(() => -1), null, null);
  }

  listen() {
    const place = (event) => {
      const box = this.pad.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
    };
    this.pad.addEventListener("pointerdown", (event) => {
      this.pad.setPointerCapture(event.pointerId);
      this.drawing = true;
      this.brush = null;
      this.at = null;
      this.stroke(place(event));
      event.preventDefault();
    });
    this.pad.addEventListener("pointermove", (event) => {
      if (this.drawing) for (const each of event.getCoalescedEvents?.() ?? [event]) this.stroke(place(each));
    });
    for (const name of ["pointerup", "pointercancel"]) {
      this.pad.addEventListener(name, () => {
        this.drawing = false;
        this.at = null;
      });
    }
    this.pad.addEventListener("keydown", (event) => this.key(event));
    this.pad.addEventListener("blur", () => {
      this.brush = null;
      this.paint();
    });
    byId("pad-clear").addEventListener("click", () => this.clear());
    byId("pad-sample").addEventListener("click", () => this.sample());
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in steps) && event.key !== " ") return;
    event.preventDefault();
    this.brush ??= [14.5, 14.5];
    if (event.key === " ") {
      this.down = !this.down;
      this.at = null;
    } else {
      this.brush = this.brush.map((value, i) => Math.min(27.5, Math.max(0.5, value + steps[event.key][i])));
    }
    if (this.down) this.stroke([...this.brush]);
    this.paint();
  }

  async sample() {
    const { pixels, label } = await ask("GET", `/digit/sample?seed=${Math.floor(Math.random() * 2 ** 31)}`);
    this.truth = label;
    this.ink.set(pixels.map((value) => value / 255));
    this.paint();
    await this.ask();
  }

  // -- the answer ----------------------------------------------------------------------------------------------------

  async answer() {
    if (!this.model || !this.ink.some((value) => value > 0)) return;
    const answer = await ask("POST", "/digit", { pixels: Array.from(this.ink, (value) => Math.round(255 * value)) });
    if (!this.ink.some((value) => value > 0)) return;
    byId("digit-label").textContent = answer.label;
    const agree = answer.rules.filter(({ label }) => label === answer.label).length;
    const truth = this.truth === null ? "" : ` The test digit is a ${this.truth}.`;
    byId("digit-words").textContent = `${agree} of ${answer.rules.length} rules agree.${truth}`;
    const vote = answer.rules.find(({ rule }) => rule === "vote") ?? answer.rules[0];
    this.drawBars(vote.scores, answer.label, answer.probabilities);
    this.drawHistory(answer.history);
    this.drawReasons(answer);
    this.drawRules(answer.rules);
    paintPixels(byId("seen"), answer.seen, answer.shape);
  }

  drawBars(scores, winner, probabilities) {
    const rows = scores.map((score, i) => {
      const name = this.model.classes[i];
      const fill = element("div", { class: "fill" });
      fill.style.width = `${50 * (score + 1)}%`;
      const words = winner === null ? "" : `${signed(score)}${Math.abs(score).toFixed(2)}`;
      const chance = probabilities ? percent(probabilities[i]) : "";
      const row = { class: name === winner ? "winner" : "", role: "listitem", "data-score": score, "data-class": name };
      return element("div", row, element("b", {}, name), element("div", { class: "rail" }, fill), element("span", {}, words), element("span", {}, chance));
    });
    byId("bars").replaceChildren(...rows);
  }

  drawHistory({ births, votes, leaders }) {
    const canvas = byId("history");
    const [wide, high] = [births.length, votes.length];
    const cell = 16;
    canvas.width = Math.max(640, 3 * wide);
    canvas.height = high * cell;
    const context = canvas.getContext("2d");
    context.fillStyle = colour("card");
    context.fillRect(0, 0, canvas.width, canvas.height);
    const step = canvas.width / wide;
    context.fillStyle = colour("plus");
    votes.forEach((row, c) => {
      [...row].forEach((vote, i) => {
        if (vote === "+") context.fillRect(i * step, c * cell + 1, Math.max(1, step), cell - 2);
      });
    });
    context.strokeStyle = colour("length");
    context.lineWidth = 2.5;
    context.beginPath();
    leaders.forEach((c, i) => {
      context.lineTo(i * step, (c + 0.5) * cell);
      context.lineTo((i + 1) * step, (c + 0.5) * cell);
    });
    context.stroke();
    context.font = "bold 12px system-ui, sans-serif";
    context.textBaseline = "middle";
    votes.forEach((_, c) => {
      context.fillStyle = colour("paper");
      context.fillRect(0, c * cell + 1, 15, cell - 2);
      context.fillStyle = colour("ink");
      context.fillText(this.model.classes[c].slice(0, 2), 3, (c + 0.5) * cell);
    });
    byId("history-end").textContent = `mistake ${births.at(-1).toLocaleString("en")}`;
    const counts = votes.map((row, c) => `${this.model.classes[c]}: ${[...row].filter((vote) => vote === "+").length}`);
    canvas.setAttribute("aria-label", `Of ${births.length} perceptrons in order of birth, votes for each class: ${counts.join(", ")}`);
  }

  drawReasons({ reasons, shape: size, label }) {
    const pictures = reasons.map(({ example, weight, label: own, pixels }) => {
      const canvas = element("canvas", { "aria-hidden": "true" });
      paintPixels(canvas, pixels, size ?? [8, 8]);
      const words = `${signed(weight)}${(100 * Math.abs(weight)).toFixed(1)} %`;
      return element("div", { class: weight > 0 ? "for" : "against", role: "listitem", title: `training image ${example}` }, canvas, element("b", {}, words), element("div", {}, own));
    });
    byId("reasons").replaceChildren(...pictures);
    byId("reasons-note").textContent = `their part of the score of ${label}`;
  }

  drawRules(rules) {
    const table = byId("digit-rules");
    const head = element("tr", {}, element("th", { scope: "col" }, "rule"), ...this.model.classes.map((name) => element("th", { scope: "col" }, name)));
    table.tHead.replaceChildren(head);
    const rows = rules.map(({ rule, label, scores }) => {
      const largest = Math.max(...scores.map(Math.abs)) || 1;
      const cells = scores.map((score, i) => {
        const cell = element("td", { class: this.model.classes[i] === label ? "top" : "" }, (score / largest).toFixed(2).replace("-", "−"));
        const tint = colour(score >= 0 ? "field-plus" : "field-minus");
        cell.style.backgroundColor = `rgba(${tint}, ${0.3 * Math.abs(score / largest)})`;
        return cell;
      });
      return element("tr", { "data-rule": rule }, element("th", { scope: "row" }, rule), ...cells);
    });
    table.tBodies[0].replaceChildren(...rows);
  }
}
