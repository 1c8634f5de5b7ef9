// Your games, kept in this browser. A game that is under way is kept twice a second, and found again after a crash.

import { today } from "./list.js";
import { pack, unpack } from "./packed.js";
import { forget, read, write } from "./storage.js";

const GAMES = "qwop.games";
const RUNNING = "qwop.running";
const NAME = "qwop.name";
const MOST = 300; // games, the best one always among them
const KEEP = 500; // ms between two notes of the game under way

// Finished games by time, then the others by distance.
export const better = (one, two) => {
  const rank = ({ outcome, metres, seconds }) => (outcome === "finished" ? 1e6 - seconds : metres);
  return rank(one) > rank(two);
};

export const bestOf = (games) => games.reduce((best, game) => (!best || better(game, best) ? game : best), null);

export class Games {
  constructor(module) {
    this.module = module;
    this.kept = true; // false once the browser refused to keep a game
    this.noted = 0; // when the game under way was kept
    this.list = read(GAMES, []).flatMap((entry) => this.entry(entry));
  }

  entry({ number, packed, seconds }) {
    try {
      const { keys, outcome, metres, name, day, tempo } = unpack(packed);
      return [{ number, packed, keys, outcome, metres, seconds, name, day, tempo }];
    } catch {
      return []; // of another version of the page
    }
  }

  get best() { return bestOf(this.list); }

  // Keeps a game, { keys, outcome, metres, seconds, tempo } and its rows; returns its entry.
  add(result, rows) {
    const game = { ...result, name: this.name, day: today(), rows };
    game.packed = pack(this.module, game);
    forget(RUNNING);
    // Another tab may have added games meanwhile.
    const others = read(GAMES, []);
    const number = Math.max(0, ...others.map((other) => other.number), ...this.list.map((other) => other.number)) + 1;
    this.list = [...others.flatMap((other) => this.entry(other)), { ...game, number }];
    while (this.list.length > MOST) this.list.splice(this.list.findIndex((one) => one !== this.best), 1);
    this.save();
    return this.list.at(-1);
  }

  // The line about a game that has just ended.
  said({ number }, isBest) {
    if (!this.kept) return `${isBest ? "Your best so far, game" : "Game"} ${number} until the page closes.`;
    return isBest ? `Your best so far, kept as game ${number}.` : `Kept as game ${number}.`;
  }

  // Takes a game out of the list; returns false if that cannot be done now.
  remove({ number }) {
    this.list = this.list.filter((game) => game.number !== number);
    this.save();
    return true;
  }

  // Puts a removed game back into its place.
  restore(game) {
    this.list = [...this.list, game].sort((one, two) => one.number - two.number);
    this.save();
  }

  save() {
    this.kept = write(GAMES, this.list.map(({ number, packed, seconds }) => ({ number, packed, seconds })));
  }

  get name() { return read(NAME, "me"); }

  set name(name) { write(NAME, name.slice(0, 40) || "me"); }

  // --- the game under way ---

  follow(run, now) {
    if (now - this.noted < KEEP) return;
    this.noted = performance.now();
    write(RUNNING, { keys: run.game.keys, tempo: run.tempo });
  }

  takeRunning() {
    const running = read(RUNNING, null);
    forget(RUNNING);
    return running;
  }
}
