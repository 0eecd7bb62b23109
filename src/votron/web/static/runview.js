// One moment of a training run, as pictures: the boundary or the images, the errors of all rules, the vectors alive.

import { byId, element, paintPixels, percent, plural, shape, shown, signed } from "./dom.js";
import { paintField } from "./field.js";
import { Plane } from "./plane.js";
import { ticksUpTo } from "./proof.js";

const [ACROSS, DEEP] = [520, 250];
const ROOM = { left: 46, right: 14, top: 10, bottom: 34 };

/** Time on a logarithmic scale: most happens at the beginning. */
function timeScale(end) {
  const long = Math.log(Math.max(2, end));
  return (time) => ROOM.left + (Math.log(Math.max(1, time)) / long) * (ACROSS - ROOM.left - ROOM.right);
}

export class RunView {
  constructor(overview) {
    this.run = overview;
    this.x = timeScale(overview.n_steps);
    const { kind } = overview;
    byId("run-board-frame").hidden = kind !== "plane";
    byId("run-images").hidden = kind !== "images";
    byId("run-nothing").hidden = kind !== "other";
    if (kind === "plane") this.plane = new Plane(byId("run-board"), overview.points.extent);
    byId("run-measured").textContent = overview.measured_on ? `on ${overview.measured_on}` : "need test rows: give some with --test";
    byId("run-slider").max = overview.times.length - 1;
    this.drawErrors();
    this.drawLives();
  }

  // -- errors --------------------------------------------------------------------------------------------------------

  drawErrors() {
    const svg = byId("run-errors");
    svg.setAttribute("viewBox", `0 0 ${ACROSS} ${DEEP}`);
    const { errors, times, n_examples: m, n_steps: end } = this.run;
    const all = Object.values(errors).flat().sort((a, b) => a - b);
    this.top = Math.max(0.02, Math.min(1, 1.15 * (all[Math.floor(0.93 * all.length)] ?? 1)));
    this.y = (share) => DEEP - ROOM.bottom - (Math.min(share, this.top) / this.top) * (DEEP - ROOM.top - ROOM.bottom);
    const parts = [];
    for (const share of ticksUpTo(this.top, 4)) {
      parts.push(shape("line", { x1: this.x(1), x2: this.x(end), y1: this.y(share), y2: this.y(share), class: share ? "gridline" : "axis" }));
      parts.push(shape("text", { x: this.x(1) - 7, y: this.y(share) + 4, class: "muted", "text-anchor": "end" }, `${shown(100 * share, 2)} %`));
    }
    for (const epoch of [0.01, 0.1, 1, 10, 100].filter((e) => e * m >= 1 && e * m <= end)) {
      parts.push(shape("line", { x1: this.x(epoch * m), x2: this.x(epoch * m), y1: this.y(0), y2: ROOM.top, class: "gridline" }));
      parts.push(shape("text", { x: this.x(epoch * m), y: this.y(0) + 15, class: "muted", "text-anchor": "middle" }, String(epoch)));
    }
    parts.push(shape("text", { x: ACROSS - ROOM.right, y: DEEP - 4, class: "muted", "text-anchor": "end" }, "epochs"));
    for (const [rule, shares] of Object.entries(errors).reverse()) {
      const steps = shares.map((share, i) => `${i ? "L" : "M"}${this.x(times[i]).toFixed(1)} ${this.y(share).toFixed(1)}`);
      parts.push(shape("path", { d: steps.join(""), class: `curve rule-${rule}` }));
    }
    this.pointer = shape("g");
    svg.replaceChildren(...parts, this.pointer);
  }

  pointAt(moment) {
    const x = this.x(moment.time);
    const dots = Object.entries(moment.errors).map(([rule, share]) => shape("circle", { cx: x, cy: this.y(share), r: 4.5, class: `fill-${rule}` }));
    this.pointer.replaceChildren(shape("line", { x1: x, x2: x, y1: this.y(0), y2: ROOM.top, class: "crossing" }), ...dots);
    const entries = Object.entries(moment.errors).map(([rule, share]) => {
      const line = shape("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" }, shape("path", { d: "M0 4H24", class: `curve rule-${rule}` }));
      return element("li", { "data-rule": rule, "data-error": share }, line, `${rule} ${percent(share)}`);
    });
    byId("run-key").replaceChildren(...entries);
  }

  // -- one moment ----------------------------------------------------------------------------------------------------

  show(moment) {
    const { run } = this;
    this.pointAt(moment);
    byId("run-k").textContent = run.mistakes[moment.index].toLocaleString("en");
    byId("run-time").textContent = moment.time.toLocaleString("en");
    byId("run-of").textContent = `examples, ${shown(moment.epoch)} epochs`;
    byId("run-made").textContent = this.madeWords(moment);
    const slider = byId("run-slider");
    slider.setAttribute("aria-valuetext", `${plural(run.mistakes[moment.index], "mistake")} after ${plural(moment.time, "example")}`);
    slider.dataset.time = moment.time;
    if (this.plane) this.showPlane(moment);
    if (run.kind === "images") this.showImages(moment);
    this.showAlive(moment);
  }

  madeWords({ made }) {
    const example = `Example ${made[0].example}`;
    if (this.run.classes.length === 2) {
      const { sign, score } = made[0];
      return `${example}, of class ${this.run.classes[sign > 0 ? 1 : 0]}, had the score ${shown(score)}: it is ${sign > 0 ? "added to" : "taken from"} v.`;
    }
    const words = made.map(({ of, sign }) => (sign > 0 ? `added to the vector of ${of}` : `taken from that of ${of}`));
    return `${example} is ${words.join(", and ")}.`;
  }

  showPlane(moment) {
    const { plane, run } = this;
    paintField(byId("run-field"), moment.field);
    plane.drawBoundary(moment.field);
    plane.put(
      "examples",
      ...run.points.x.map((x, i) => plane.mark(x, run.points.y[i])),
      ...moment.support.map((x) => plane.ring(x, "ring", 8)),
      plane.ring(moment.point, "now", 13),
    );
  }

  showImages(moment) {
    const newest = moment.made[0].example;
    const pictures = moment.images.map((image) => {
      const canvas = element("canvas", { "aria-hidden": "true" });
      paintPixels(canvas, image.pixels, this.run.shape);
      const name = `${image.sign > 0 ? "for" : "against"}${image.example === newest ? " newest" : ""}`;
      const words = `${signed(image.sign)} ${image.of}`;
      return element("div", { class: name, role: "listitem" }, canvas, element("b", {}, words));
    });
    byId("run-images").replaceChildren(...pictures);
  }

  // -- lives ---------------------------------------------------------------------------------------------------------

  drawLives() {
    const svg = byId("run-alive");
    const [high, low] = [120, 100];
    svg.setAttribute("viewBox", `0 0 ${ACROSS} ${high}`);
    const { survival, times, n_steps: end } = this.run;
    const long = Math.log(Math.max(2, ...survival) + 1);
    const y = (life) => low - (Math.log(life + 1) / long) * (low - 8);
    this.stems = survival.map((life, i) => shape("line", { x1: this.x(times[i]), x2: this.x(times[i]), y1: low, y2: y(life), class: "life" }));
    const ticks = [1, 10, 100, 1000, 10000, 100000].filter((life) => life <= Math.max(...survival));
    const lines = ticks.flatMap((life) => [
      shape("line", { x1: this.x(1), x2: this.x(end), y1: y(life), y2: y(life), class: "gridline" }),
      shape("text", { x: this.x(1) - 7, y: y(life) + 4, class: "muted", "text-anchor": "end" }, shown(life)),
    ]);
    const words = shape("text", { x: ACROSS - ROOM.right, y: high - 4, class: "muted", "text-anchor": "end" }, "born at this time, alive for so many examples");
    svg.replaceChildren(...lines, shape("line", { x1: this.x(1), x2: this.x(end), y1: low, y2: low, class: "axis" }), ...this.stems, words);
  }

  showAlive(moment) {
    const now = this.run.times.indexOf(moment.time);
    this.stems.forEach((stem, i) => stem.classList.toggle("now-alive", i === now));
    const newest = moment.alive.filter(({ born }) => born === moment.time);
    const words = newest.map(({ of, survival }) => `${newest.length > 1 ? `${of}: ` : ""}${plural(survival, "example")}`).join(", ");
    byId("run-alive-note").textContent = `the one born here: ${words}`;
    const chips = moment.alive.map(({ of, born, survival }) => {
      const name = this.run.classes.length === 2 ? "v" : `v of ${of}`;
      return element("li", { class: born === moment.time ? "newest" : "", "data-survival": survival }, `${name}: born at ${shown(born, 6)}, lives ${shown(survival, 6)}`);
    });
    byId("run-chips").replaceChildren(...chips);
    byId("run-alive").setAttribute("aria-label", `How long vectors live; the one born here: ${words}`);
  }
}
