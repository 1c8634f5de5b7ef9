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

const where = (game) => ({ frames: game.keys.length, x: game.state[0], seconds: game.seconds });

// A saved game that goes on in two ways, and in the first one again, here and on another page.
export function branches(module, before, one, two) {
  const [game, second] = [new Game(module), new Game(module)];
  const go = (page, keys) => {
    keys.forEach((pressed) => page.step(pressed));
    return where(page);
  };
  go(game, before);
  const saved = game.save();
  const [first, other, again, elsewhere] = [[game, one], [game, two], [game, one], [second, one]].map(([page, keys]) => {
    page.restore(saved);
    return go(page, keys);
  });
  return { first, other, again, elsewhere };
}
