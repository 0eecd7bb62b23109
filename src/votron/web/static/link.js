// A game as part of an address: its setup and its moves, from which everything follows.

export function encodeGame(setup, moves) {
  const text = JSON.stringify({ setup, moves: moves.map(({ x, y }) => [...x, y]) });
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decodeGame(code) {
  try {
    const bytes = Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const { setup, moves } = JSON.parse(new TextDecoder().decode(bytes));
    return { setup, moves: moves.map(([a, b, y]) => ({ x: [a, b], y })) };
  } catch {
    return null;
  }
}
