// Plays sessions and says how: what `runners.py` runs in Node and in browsers, to compare them with numba.

import { Sha256, stateBytes } from "./digest.js";
import { Game } from "./engine.js";

// sessions: lists of games { keys, resets, held } that one page plays in order. Returns the same lists with the digest
// of all states, the number of frames played and the outcome of each game.
export function playSessions(module, sessions) {
  return sessions.map((games) => {
    const page = new Game(module);
    page.kernels.load();
    return games.map(({ keys, resets = 1, held = 0 }) => {
      page.begin(resets, held);
      const digest = new Sha256().update(stateBytes(page));
      for (const pressed of keys) {
        if (page.ended) break;
        page.step(pressed);
        digest.update(stateBytes(page));
      }
      return { sha256: digest.hex(), frames: page.keys.length, outcome: page.outcome, metres: page.metres, seconds: page.seconds };
    });
  });
}

// What a policy sees of a game, frame by frame, and first where it lags.
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
