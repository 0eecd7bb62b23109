// How a game stands, in numbers and words.

import { byId, pair, shown, signed } from "./dom.js";

export function drawScore({ k, bound, margin, radius, deviation, proof, sentence }) {
  byId("k").textContent = k;
  byId("k").dataset.k = k;
  byId("bound").textContent = bound === null ? "…" : shown(bound);
  byId("bound").dataset.bound = bound ?? "";
  byId("meter").style.width = bound ? `${Math.min(100, (100 * k) / bound)}%` : "0";
  const gamma = margin === null ? "γ" : shown(margin);
  const [letters, numbers] = deviation > 0 ? ["((R + D)/γ)²", `((${shown(radius)} + ${shown(deviation)})/${gamma})²`] : ["(R/γ)²", `(${shown(radius)}/${gamma})²`];
  byId("formula").textContent = bound === null ? letters : `${letters} = ${numbers} = ${shown(bound)}`;
  byId("proof-note").textContent = `${deviation > 0 ? "kγ − √k D" : "kγ"} ≤ v·u ≤ ‖v‖ ≤ √k R, and the outer two cross`;
  const lower = margin === null ? null : k * margin - deviation * Math.sqrt(k);
  const chain = lower === null || !k ? "" : `Now: ${[lower, proof.along[k], proof.length[k], Math.sqrt(k) * radius].map((one) => shown(one)).join(" ≤ ")}.`;
  byId("proof-words").textContent = [chain, sentence].filter(Boolean).join(" ");
}

export function roundWords(round) {
  const what = `x = ${pair(round.x)} with label ${signed(round.y)}: B says ${signed(round.prediction)}`;
  if (!round.mistake) return `${what}, which is right: v stays.`;
  const after = round.v ? `v ${signed(round.y)} x = ${pair(round.v)}` : `v ${signed(round.y)} Φ(x)`;
  const why = round.prediction === round.y ? " (the score is 0, which counts as one)" : "";
  return `${what}. Mistake ${round.k}${why}: v becomes ${after}.`;
}
