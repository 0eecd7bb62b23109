// Elements, numbers as text, and what the reader prefers.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const shape = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** A number with so many significant digits, a true minus, and no exponent. */
export function shown(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "∞";
  const text = Math.abs(value) >= 10 ** digits ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

export const signed = (y) => (y > 0 ? "+" : "−");
export const pair = (x) => `(${shown(x[0])}, ${shown(x[1])})`;
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;
export const plural = (n, thing) => `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;
export const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Call with the last arguments only, once the previous call is through. */
export function latestOnly(work) {
  let busy = false;
  let waiting = null;
  return async function call(...args) {
    if (busy) {
      waiting = args;
      return;
    }
    busy = true;
    try {
      await work(...args);
    } finally {
      busy = false;
      if (waiting !== null) {
        const next = waiting;
        waiting = null;
        call(...next);
      }
    }
  };
}

/** Grey bytes in base64 on a canvas, 255 as black ink on white. */
export function paintPixels(canvas, base64, [height, width]) {
  const bytes = atob(base64);
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i += 1) {
    const grey = 255 - bytes.charCodeAt(i);
    image.data.set([grey, grey, grey, 255], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
