// The runners beside you. A ghost's clock starts with your first key.

import { Game, POSE, ROW } from "./engine.js";
import { ACTION_KEYS } from "./policy.js";
import { interpolate, rowAt } from "./rows.js";

const SLOWEST = 0.4; // metres a second: the pacer of a beginner
const QUICKER = 1.1; // the pacer is a little ahead of your best

// A recorded game, perhaps slowed down.
export class Recorded {
  constructor(title, rows, tempo = 1) {
    Object.assign(this, { title, rows, tempo });
    let first = 0;
    while (first < rows.length / ROW - 1 && rows[first * ROW + POSE + 1] === 0) first += 1;
    this.first = first;
  }

  begin() {}

  step() {}

  at(frame, seconds) { return rowAt(this.rows, ROW, POSE, this.first - 1 + seconds * this.tempo * 30); }
}

// The record's game, slowed down to about your own pace. best: your best game, or null.
export function pacer(record, best) {
  const fastest = record.metres / record.seconds;
  const own = best && best.seconds > 0 ? (best.metres / best.seconds) * QUICKER : 0;
  return new Recorded("pacer", record.rows, Math.min(Math.max(own, SLOWEST) / fastest, 1));
}

// A policy that plays now: it waits as long as you do, then runs.
export class Live {
  constructor(title, module, policy) {
    Object.assign(this, { title, policy, game: new Game(module) });
    this.begin();
  }

  begin() {
    const { game, policy } = this;
    game.load();
    const late = policy.lag ? game.observeStart(policy.kind).slice() : null; // what was to be seen a frame ago
    Object.assign(this, { late, keys: 0, left: 0, running: false, kept: [game.row()] });
  }

  // A frame of yours, in which you held these keys.
  step(keys) {
    const { game, policy, late } = this;
    if (game.ended) return;
    this.running ||= keys !== 0;
    if (this.running && this.left === 0) {
      this.keys = ACTION_KEYS[policy.decide(late ?? game.observe(policy.kind))];
      this.left = policy.framesPerStep;
    }
    if (this.running) this.left -= 1;
    late?.set(game.observe(policy.kind));
    game.step(this.keys);
    this.kept.push(game.row());
  }

  at(frame) {
    const last = this.kept.length - 1;
    const index = Math.min(Math.floor(frame), last);
    if (index === last) return this.kept[last];
    return interpolate(this.kept[index], this.kept[index + 1], frame - index, POSE);
  }
}
