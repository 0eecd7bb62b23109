// Scores on a grid: as a tint behind the board, and the line where they are 0.

import { colour } from "./dom.js";

const FINE = 90; // places a side from which a grid is one of votes

export function paintField(canvas, field) {
  const context = canvas.getContext("2d");
  if (!field) {
    context.clearRect(0, 0, canvas.width, canvas.height);
    return;
  }
  const { size, values } = field;
  canvas.width = size;
  canvas.height = size;
  const image = new ImageData(size, size);
  const [plus, minus] = ["field-plus", "field-minus"].map((name) => colour(name).split(",").map(Number));
  values.forEach((value, i) => {
    const strength = value === 0 ? 0 : 26 + 62 * Math.sqrt(Math.abs(value) / 10000);
    image.data.set([...(value >= 0 ? plus : minus), strength], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

/** Means over 5 by 5 places: votes come in steps, on a fine grid, and a straight step would be drawn as stairs. */
function softened({ size, values }) {
  const means = (given, stride, placeOf) =>
    given.map((_, i) => {
      const [first, last] = [Math.max(-2, -placeOf(i)), Math.min(2, size - 1 - placeOf(i))];
      let sum = 0;
      for (let k = first; k <= last; k += 1) sum += given[i + k * stride];
      return sum / (last - first + 1);
    });
  const across = means(values, 1, (i) => i % size);
  return means(across, size, (i) => Math.floor(i / size));
}

/** The path of score 0, by marching squares, in the coordinates of the plane. */
export function zeroLine(field, toScreen) {
  const { size, extent } = field;
  const values = size >= FINE ? softened(field) : field.values;
  const step = (2 * extent) / (size - 1);
  const at = (row, column) => toScreen([-extent + column * step, extent - row * step]);
  const parts = [];
  for (let row = 0; row + 1 < size; row += 1) {
    for (let column = 0; column + 1 < size; column += 1) {
      const corners = [[row, column], [row, column + 1], [row + 1, column + 1], [row + 1, column]];
      const scores = corners.map(([r, c]) => values[r * size + c]);
      const crossings = [];
      for (let k = 0; k < 4; k += 1) {
        const [a, b] = [scores[k], scores[(k + 1) % 4]];
        if (a >= 0 !== b >= 0) {
          const share = a / (a - b);
          const [p, q] = [at(...corners[k]), at(...corners[(k + 1) % 4])];
          crossings.push([p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])]);
        }
      }
      for (let k = 0; k + 1 < crossings.length; k += 2) {
        parts.push(`M${crossings[k].map((n) => n.toFixed(1))}L${crossings[k + 1].map((n) => n.toFixed(1))}`);
      }
    }
  }
  return parts.join("");
}
