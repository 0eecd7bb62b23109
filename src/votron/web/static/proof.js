// The proof as a picture: v·u from below, ‖v‖ from above, and where the bounds on them cross.

import { shape, shown } from "./dom.js";

const [WIDE, HIGH] = [520, 300];
const MARGIN = { left: 44, right: 14, top: 12, bottom: 38 };

export function ticksUpTo(end, count = 6) {
  const rough = end / count;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? 1;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}

export function drawProof(svg, { proof, margin, radius, deviation, bound }) {
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  const k = proof.along.length - 1;
  const end = Math.max(1.12 * (bound ?? 0), k + 1, 2);
  const top = 1.1 * Math.max(radius * Math.sqrt(end), ...proof.length) || 1;
  const x = (value) => MARGIN.left + (value / end) * (WIDE - MARGIN.left - MARGIN.right);
  const y = (value) => HIGH - MARGIN.bottom - (Math.max(0, value) / top) * (HIGH - MARGIN.top - MARGIN.bottom);
  const many = Array.from({ length: 121 }, (_, i) => (i / 120) * end);
  const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const curve = (points, name) => shape("path", { d: path(points), class: `curve ${name}` });
  const label = (a, b, words, name, dx = 0, dy = 0, anchor = "start") =>
    shape("text", { x: x(a) + dx, y: y(b) + dy, class: name, "text-anchor": anchor }, words);

  const parts = [];
  for (const tick of ticksUpTo(end)) {
    parts.push(shape("line", { x1: x(tick), x2: x(tick), y1: y(0), y2: MARGIN.top, class: "gridline" }));
    parts.push(shape("text", { x: x(tick), y: y(0) + 16, class: "muted", "text-anchor": "middle" }, shown(tick)));
  }
  for (const tick of ticksUpTo(top, 4)) {
    parts.push(shape("line", { x1: x(0), x2: x(end), y1: y(tick), y2: y(tick), class: tick ? "gridline" : "axis" }));
    if (tick) parts.push(shape("text", { x: x(0) - 7, y: y(tick) + 4, class: "muted", "text-anchor": "end" }, shown(tick)));
  }
  parts.push(shape("text", { x: x(end), y: HIGH - 6, class: "muted", "text-anchor": "end" }, "mistakes k"));

  const lower = (n) => n * margin - deviation * Math.sqrt(n);
  parts.push(curve(many.map((n) => [n, radius * Math.sqrt(n)]), "bound length"));
  if (margin !== null) parts.push(curve(many.map((n) => [n, lower(n)]), "bound along"));
  if (bound !== null && margin !== null) {
    const height = radius * Math.sqrt(bound);
    parts.push(shape("line", { x1: x(bound), x2: x(bound), y1: y(0), y2: y(height), class: "crossing" }));
    parts.push(shape("circle", { cx: x(bound), cy: y(height), r: 5, class: "crossing-dot" }));
    parts.push(label(bound, 0.07 * top, `k ≤ ${shown(bound)}`, "", -8, 0, "end"));
  }
  const points = (values) => values.map((value, n) => [n, value]);
  parts.push(curve(points(proof.length), "length"), curve(points(proof.along), "along"));
  if (k <= 60) {
    proof.length.forEach((value, n) => parts.push(shape("rect", { x: x(n) - 3, y: y(value) - 3, width: 6, height: 6, class: "dot-length" })));
    proof.along.forEach((value, n) => parts.push(shape("circle", { cx: x(n), cy: y(value), r: 3.3, class: "dot-along" })));
  }
  const middle = 0.45 * end;
  parts.push(label(middle, radius * Math.sqrt(middle), "√k R", "text-length", -8, -8, "end"));
  if (margin !== null) {
    const right = 0.62 * end;
    parts.push(label(right, lower(right), deviation > 0 ? "kγ − √k D" : "kγ", "text-along", 8, 16));
  }
  if (k > 0) {
    parts.push(label(k, proof.length[k], "‖v‖", "text-length", 6, -8));
    parts.push(label(k, proof.along[k], "v·u", "text-along", 8, 12));
  }
  svg.replaceChildren(...parts);
  const words = `After ${k} mistakes v·u is ${shown(proof.along[k])} and the length of v ${shown(proof.length[k])}; the bounds cross at ${shown(bound)}.`;
  svg.setAttribute("aria-label", words);
}
