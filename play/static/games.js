// Your games, kept in this browser. A game that is under way is kept twice a second, and found again after a crash.

import { unpack } from "./packed.js";

const GAMES = "qwop.games";
const RUNNING = "qwop.running";
const NAME = "qwop.name";
const MOST = 300; // games, the best one always among them

const read = (key, otherwise) => {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
};

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch { // private browsing, or full
    return false;
  }
}

// Finished games by time, then the others by distance.
export const better = (one, two) => {
  const rank = ({ outcome, metres, seconds }) => (outcome === "finished" ? 1e6 - seconds : metres);
  return rank(one) > rank(two);
};

export const bestOf = (games) => games.reduce((best, game) => (!best || better(game, best) ? game : best), null);

export class Games {
  constructor() {
    this.kept = true; // false once the browser refused to keep a game
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

  add(game) {
    // Another tab may have added games meanwhile.
    const others = read(GAMES, []);
    const number = Math.max(0, ...others.map((other) => other.number), ...this.list.map((other) => other.number)) + 1;
    this.list = [...others.flatMap((other) => this.entry(other)), { ...game, number }];
    while (this.list.length > MOST) this.list.splice(this.list.findIndex((one) => one !== this.best), 1);
    this.save();
    return this.list.at(-1);
  }

  remove(number) {
    this.list = this.list.filter((game) => game.number !== number);
    this.save();
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

  keepRunning(keys, tempo) { write(RUNNING, { keys, tempo }); }

  forgetRunning() { localStorage.removeItem(RUNNING); }

  takeRunning() {
    const running = read(RUNNING, null);
    if (running) this.forgetRunning();
    return running;
  }
}
