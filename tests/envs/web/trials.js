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

export function branches(module, before, one, two) {
  const go = (game, keys) => {
    for (const pressed of keys) game.step(pressed);
    return where(game);
  };
  const game = new Game(module);
  go(game, before);
  const saved = game.save();
  const first = go(game, one);
  game.restore(saved);
  const other = go(game, two);
  game.restore(saved);
  const again = go(game, one);
  const second = new Game(module);
  second.restore(saved);
  return { first, other, again, elsewhere: go(second, one) };
}

export function endOf(module, keys) {
  const game = new Game(module);
  for (const pressed of keys) game.step(pressed);
  const { outcome, metres, seconds } = game;
  return { outcome, frames: game.keys.length, metres, seconds };
}
