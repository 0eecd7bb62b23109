// The board: circle, band and line of A's rules, examples, B's guesses. It draws; it decides nothing.

import { shape, signed } from "./dom.js";
import { zeroLine } from "./field.js";

const HALF = 200; // pixels of the drawing from its middle to its edge
const LONGEST = 1.35; // what an arrow may be long before it is drawn smaller

export class Plane {
  constructor(svg, extent = 1.6) {
    this.svg = svg;
    this.extent = extent;
    svg.setAttribute("viewBox", `${-HALF} ${-HALF} ${2 * HALF} ${2 * HALF}`);
    this.layers = {};
    for (const name of ["rules", "boundary", "examples", "guess", "handles", "cursor"]) {
      this.layers[name] = shape("g", { class: `layer-${name}` });
    }
    svg.replaceChildren(...Object.values(this.layers));
    this.toScreen = (x) => [(x[0] * HALF) / this.extent, (-x[1] * HALF) / this.extent];
  }

  /** The place of a pointer in the plane. */
  placeOf(event) {
    const box = this.svg.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width;
    const down = (event.clientY - box.top) / box.height;
    return [(2 * across - 1) * this.extent, (1 - 2 * down) * this.extent];
  }

  put(layer, ...shapes) {
    this.layers[layer].replaceChildren(...shapes.filter((one) => one !== null));
  }

  line(from, to, attributes) {
    const [a, b] = [this.toScreen(from), this.toScreen(to)];
    return shape("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], ...attributes });
  }

  arrow(from, to, name, width = 3) {
    const [a, b] = [this.toScreen(from), this.toScreen(to)];
    const long = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (long < 0.5) return shape("g");
    const [dx, dy] = [(b[0] - a[0]) / long, (b[1] - a[1]) / long];
    const head = Math.min(12, long);
    const neck = [b[0] - head * dx, b[1] - head * dy];
    const wing = 0.45 * head;
    const points = [[b[0], b[1]], [neck[0] - wing * dy, neck[1] + wing * dx], [neck[0] + wing * dy, neck[1] - wing * dx]];
    return shape(
      "g",
      { class: name },
      shape("line", { x1: a[0], y1: a[1], x2: neck[0], y2: neck[1], "stroke-width": width }),
      shape("polygon", { points: points.map((p) => p.join(",")).join(" "), stroke: "none" }),
    );
  }

  text(x, words, name, [dx, dy] = [0, 0]) {
    const [a, b] = this.toScreen(x);
    return shape("text", { x: a + dx, y: b + dy, class: name, "text-anchor": "middle", "dominant-baseline": "central" }, words);
  }

  // -- A's rules -----------------------------------------------------------------------------------------------------

  drawRules({ u, margin, radius, found }) {
    const circle = shape("circle", { r: (radius * HALF) / this.extent, class: "disk" });
    if (!u) return this.put("rules", circle);
    const across = [-u[1], u[0]];
    const far = 2.4 * this.extent;
    const corner = (s, t) => this.toScreen([s * margin * u[0] + t * far * across[0], s * margin * u[1] + t * far * across[1]]);
    const band = [corner(1, 1), corner(1, -1), corner(-1, -1), corner(-1, 1)].map((p) => p.join(",")).join(" ");
    const line = this.line([-far * across[0], -far * across[1]], [far * across[0], far * across[1]], { class: "target-line" });
    const tip = found ? 0.8 : 1;
    return this.put(
      "rules",
      shape("polygon", { points: band, class: "band" }),
      circle,
      line,
      this.arrow([0, 0], [tip * u[0], tip * u[1]], "u-arrow", 2.4),
      this.text([tip * u[0], tip * u[1]], found ? "u found" : "u", "name", [14 * u[0] + (found ? 14 : 0), -14 * u[1]]),
    );
  }

  /** Where A takes hold of u, γ and R. */
  handlesOf({ u, margin, radius }) {
    const across = [-u[1], u[0]];
    const side = Math.sqrt(Math.max(0, radius * radius - margin * margin));
    const turn = [0.7071 * (u[0] - across[0]), 0.7071 * (u[1] - across[1])];
    return {
      angle: [u[0], u[1]],
      margin: [margin * u[0] + 0.62 * side * across[0], margin * u[1] + 0.62 * side * across[1]],
      radius: [radius * turn[0], radius * turn[1]],
    };
  }

  drawHandles(rules) {
    if (!rules) return this.put("handles");
    const names = { angle: "", margin: "γ", radius: "R" };
    const shapes = Object.entries(this.handlesOf(rules)).map(([which, place]) => {
      const [a, b] = this.toScreen(place);
      return shape(
        "g",
        { "data-handle": which },
        shape("circle", { cx: a, cy: b, r: 16, class: "handle-zone" }),
        shape("circle", { cx: a, cy: b, r: 6, class: "handle" }),
        names[which] ? this.text(place, names[which], "name", [13, -10]) : shape("g"),
      );
    });
    return this.put("handles", ...shapes);
  }

  // -- examples and guesses ------------------------------------------------------------------------------------------

  mark(x, y, name = "") {
    const [a, b] = this.toScreen(x);
    const upright = y > 0 ? `M${a} ${b - 5.5}V${b + 5.5}` : "";
    return shape("path", { d: `M${a - 5.5} ${b}H${a + 5.5}${upright}`, class: `mark ${y > 0 ? "plus" : "minus"} ${name}` });
  }

  ring(x, name, r = 10) {
    const [a, b] = this.toScreen(x);
    return shape("circle", { cx: a, cy: b, r, class: name });
  }

  drawExamples(rounds) {
    const last = rounds.at(-1);
    this.put(
      "examples",
      ...rounds.map((round) => this.mark(round.x, round.y)),
      ...rounds.filter((round) => round.mistake).map((round) => this.ring(round.x, "ring", 9)),
      last?.mistake ? this.ring(last.x, "now", 12) : null,
    );
  }

  /** What v is divided by so that it fits on the board. */
  scaleOf(vectors) {
    const long = Math.max(0, ...vectors.map((v) => Math.hypot(v[0], v[1])));
    return long <= LONGEST ? 1 : Math.ceil(long / LONGEST);
  }

  /** v, the trace of the guesses before it, and yx where it has just been added. */
  drawGuess(rounds, { share = 1 } = {}) {
    const made = rounds.filter((round) => round.mistake && round.v);
    const now = made.at(-1);
    if (!now) return this.put("guess");
    const before = made.at(-2)?.v ?? [0, 0];
    const scale = this.scaleOf(made.map((round) => round.v));
    const small = (v) => [v[0] / scale, v[1] / scale];
    const between = [before[0] + share * (now.v[0] - before[0]), before[1] + share * (now.v[1] - before[1])];
    const trace = [[0, 0], ...made.map((round) => round.v)].map((v) => this.toScreen(small(v)).join(",")).join(" ");
    const fresh = rounds.at(-1) === now;
    const tip = small(between);
    const long = Math.hypot(...tip) || 1;
    const middle = small([(before[0] + now.v[0]) / 2, (before[1] + now.v[1]) / 2]);
    return this.put(
      "guess",
      shape("polyline", { points: trace, class: "past", "stroke-width": 1.4 }),
      fresh && made.length > 1 ? this.arrow([0, 0], small(before), "v-arrow past", 2) : null,
      fresh ? this.arrow(small(before), small(now.v), "step-arrow", 2) : null,
      fresh ? this.text(middle, `${signed(now.y)}x`, "name step", [10, 12]) : null,
      this.arrow([0, 0], tip, "v-arrow", 4),
      this.text(tip, scale === 1 ? "v" : `v ÷ ${scale}`, "name v", [(14 * tip[0]) / long, (-14 * tip[1]) / long]),
    );
  }

  drawBoundary(field) {
    const line = field && field.values.some((value) => value !== 0) ? zeroLine(field, this.toScreen) : "";
    this.put("boundary", line ? shape("path", { d: line, class: "contour" }) : null);
  }
}
