// The order of games, and their times at marks along the run, beside those of the fastest human and of your best game.

import { POSE, ROW } from "./engine.js";

export const MARKS = [10, 25, 50, 75, 100];

// Kurodo's record, 45.53 s; times at 25 m and 75 m lie between known ones.
const KNOWN = [[10, 7.64], [20, 12.12], [50, 24.38], [80, 37.28], [100, 45.53]];
export const RECORD = MARKS.map((mark) => {
  const after = KNOWN.findIndex(([metres]) => metres >= mark);
  const [to, end] = KNOWN[after];
  if (to === mark) return end;
  const [from, start] = KNOWN[after - 1];
  return start + ((end - start) * (mark - from)) / (to - from);
});
export const exact = (index) => KNOWN.some(([metres]) => metres === MARKS[index]);

// Seconds to each mark, null where the run ended before. The last one counts at the landing.
export function splitsOf(rows, outcome) {
  const frames = rows.length / ROW;
  const seconds = MARKS.map(() => null);
  let next = 0;
  for (let frame = 1; frame < frames && next < MARKS.length - 1; frame += 1) {
    while (next < MARKS.length - 1 && rows[frame * ROW + POSE] >= MARKS[next]) {
      seconds[next] = rows[frame * ROW + POSE + 1];
      next += 1;
    }
  }
  if (outcome === "finished") seconds[MARKS.length - 1] = rows[(frames - 1) * ROW + POSE + 1];
  return seconds;
}

export const difference = (seconds, other) => {
  if (seconds === null || other === null || other === undefined) return "";
  const by = seconds - other;
  return `${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(2)}`;
};

// Finished games rank by time, then the others by distance.
export const better = (one, two) => {
  const rank = ({ outcome, metres, seconds }) => (outcome === "finished" ? 1e6 - seconds : metres);
  return rank(one) > rank(two);
};

export const bestOf = (games) => games.reduce((best, game) => (!best || better(game, best) ? game : best), null);
