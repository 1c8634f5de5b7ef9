// The order of games, and their times at marks along the run, beside those of the fastest human and of your best game.

import { POSE, ROW } from "./engine.js";

export const MARKS = [10, 25, 50, 75, 100];

// Seconds of Kurodo's record to each mark. Those at 25 m and 75 m lie between known ones: 20, 50 and 80 m.
export const RECORD = [7.64, 12.12 + (24.38 - 12.12) / 6, 24.38, 24.38 + (37.28 - 24.38) / 1.2, 45.53];
export const exact = (index) => index % 2 === 0;

// Seconds to each mark, null where the run ended before. The last one counts at the landing.
export function splitsOf(rows, outcome) {
  const frames = Array.from({ length: rows.length / ROW - 1 }, (_, frame) => rows.subarray((frame + 1) * ROW + POSE));
  const along = MARKS.slice(0, -1).map((mark) => frames.find((frame) => frame[0] >= mark)?.[1] ?? null);
  return [...along, outcome === "finished" ? frames.at(-1)[1] : null];
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
