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
      return { sha256: digest.hex(), frames: page.keys.length, outcome: page.outcome, metres: page.metres };
    });
  });
}

// Frames a second while one game is played over and over for about this many milliseconds.
export function framesPerSecond(module, keys, least = 2000) {
  const page = new Game(module);
  const start = performance.now();
  let frames = 0;
  while (performance.now() - start < least) {
    page.load();
    for (const pressed of keys) page.step(pressed);
    frames += page.keys.length;
  }
  return Math.round((1000 * frames) / (performance.now() - start));
}
