import { Game } from "./engine.js";

export function observationsOf(module, keys, kind) {
  const game = new Game(module);
  const start = [...game.observeStart(kind)];
  const frames = [[...game.observe(kind)]];
  for (const pressed of keys) {
    game.step(pressed);
    frames.push([...game.observe(kind)]);
  }
  return { start, frames };
}
