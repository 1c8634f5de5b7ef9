// Coached games as the page plays them, without a browser, for tests.

import { choose, CoachedRun, uniform } from "./coached.js";
import { Control } from "./control.js";
import { Policy } from "./policy.js";

const FRAME = 1000 / 30;
const id = (number) => number.toString(16).padStart(12, "0");

// The lines of games in which these moves are made: ["keys", held, frames], ["tap", keys], within a frame, ["back"],
// ["hand over"] and ["new"].
// file: the policy's, in base64. Also true where going back has given the state that was there before.
export function linesOf(module, file, settings, moves) {
  const policy = new Policy(Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0)).buffer);
  const keyboard = { mask: 0, tap: { at: -1, keys: 0 }, during(from, to) { return this.mask | (from <= this.tap.at && this.tap.at < to ? this.tap.keys : 0); } };
  const lines = [];
  const same = [];
  let [run, now, count, states] = [null, 0, 0, []];
  const keep = () => {
    if (!run?.played) return;
    const game = id(lines.length + 1);
    const { keys, sha256, place, decisions } = run.result();
    lines.push({ game, place, decisions, frames: keys.slice(), sha256 });
    run.keep(game);
  };
  const begin = () => {
    keep();
    run = new CoachedRun(module, keyboard, null, now, 1, { ...settings, policy, count, light() {} });
    states = [];
    count += 1;
  };
  begin();
  for (const [move, held, frames] of moves) {
    if (move === "new") begin();
    else if (move === "hand over") run.handOver();
    else if (move === "tap") {
      keyboard.tap = { at: (now += 2), keys: held };
      now += 2;
    } else if (move === "back") {
      keep();
      run.goBack(now);
      same.push(JSON.stringify([...run.game.state]) === states[run.game.keys.length]);
    } else {
      keyboard.mask = held;
      for (let frame = 0; frame < frames; frame += 1) {
        states[run.game.keys.length] = JSON.stringify([...run.game.state]);
        now += FRAME;
        run.tick(now + 1);
      }
    }
  }
  keep();
  return { lines, same };
}

export const draws = (module, key, counters) => counters.map((counter) => uniform(key, counter));

export const choices = (module, all, numbers) => all.map((odds, row) => choose(Float32Array.from(odds), numbers[row]));

// Who acts in each frame of a game; a move is the keys held in a frame, or [method, keys held].
export function controlled(module, release, moves) {
  const control = new Control(release);
  return moves.flatMap((move) => (typeof move === "number" ? [control.actor(move)] : control[move[0]](move[1]) ?? []));
}
