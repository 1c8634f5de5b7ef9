// Your games, kept in this browser. A game that is under way is kept twice a second, and found again after a crash.

import { today } from "./list.js";
import { areKeys, pack, TEMPOS, unpack } from "./packed.js";
import { bestOf } from "./splits.js";
import { forget, names, openPages, page, random, read, write } from "./storage.js";
import { cut } from "./texts.js";

const GAMES = "qwop.games";
const RUNNING = "qwop.running."; // and the page that plays it, or any digits once that is closed
const NAME = "qwop.name";
const MOST = 300; // games, the best one always among them
const KEEP = 500; // ms between two notes of the game under way
const LONGEST_NAME = 40; // characters

export const shortName = (name) => cut(name, LONGEST_NAME).trim();

// The name that was entered last; `otherwise` if there is none.
export function keptName(otherwise) {
  const kept = read(NAME, "");
  return (typeof kept === "string" && shortName(kept)) || otherwise;
}

export const keepName = (name) => write(NAME, name);

export class Games {
  constructor(module) {
    this.module = module;
    this.kept = true; // false once the browser refused to keep a game
    this.noted = 0; // when the game under way was kept
    this.list = [];
    this.refresh();
  }

  refresh() {
    const known = (kept) => this.list.find(({ number, packed }) => number === kept?.number && packed === kept.packed);
    this.unread = []; // of another version of the page, or of another page: left as it is
    this.list = [read(GAMES, [])].flat().flatMap((kept) => known(kept) ?? this.entry(kept));
  }

  entry(kept) {
    try {
      const { number, packed, outcome, metres, seconds } = kept;
      const isGame = Number.isSafeInteger(number) && number > 0 && typeof outcome === "string" && [metres, seconds].every(Number.isFinite);
      if (!isGame) throw new TypeError("not a game of this page");
      return [{ ...unpack(packed), number, packed, outcome, metres, seconds }];
    } catch {
      this.unread.push(kept);
      return [];
    }
  }

  get best() { return bestOf(this.list); }

  // Keeps a game, { keys, outcome, metres, seconds, tempo } and its rows; returns its entry.
  add(result, rows) {
    const game = { ...result, name: this.name, day: today(), rows };
    game.packed = pack(this.module, game);
    forget(RUNNING + page);
    this.change((list) => [...list, Object.assign(game, { number: Math.max(0, ...list.map(({ number }) => number)) + 1 })]);
    return game;
  }

  // The line about a game that has just ended.
  said({ number }, isBest) {
    if (!this.kept) return `${isBest ? "Your best so far, game" : "Game"} ${number} until the page closes.`;
    return isBest ? `Your best so far, kept as game ${number}.` : `Kept as game ${number}.`;
  }

  // Takes a game out of the list; returns false if that cannot be done now.
  remove(game) {
    this.change((list) => list.filter((other) => other !== game));
    return true;
  }

  // Puts a removed game back into its place.
  restore(game) { this.change((list) => [...list, game].sort((one, two) => one.number - two.number)); }

  // Changes the list as the browser keeps it now: another page may have added games and discarded others.
  change(changed) {
    this.refresh();
    this.list = changed(this.list);
    while (this.list.length > MOST) this.list.splice(this.list.findIndex((one) => one !== this.best), 1);
    const games = this.list.map(({ number, packed, outcome, metres, seconds }) => ({ number, packed, outcome, metres, seconds }));
    this.kept = write(GAMES, [...this.unread, ...games]);
  }

  get name() { return keptName("me"); }

  set name(name) { keepName(shortName(name)); }

  // --- the game under way ---

  follow(run, now) {
    if (now - this.noted < KEEP) return;
    this.noted = performance.now();
    write(RUNNING + page, { keys: run.game.keys, tempo: run.tempo });
  }

  // The page closes: the next one finds the game.
  close(run) {
    forget(RUNNING + page);
    write(RUNNING + random(), { keys: run.game.keys, tempo: run.tempo });
  }

  // The games of closed pages, which are forgotten here.
  async takeRunning() {
    const open = await openPages();
    return names(RUNNING).filter((name) => !open.has(name.slice(RUNNING.length))).flatMap((name) => {
      const running = read(name, null);
      if (!areKeys(running?.keys)) return []; // of another form: left as it is
      forget(name);
      return [{ keys: running.keys, tempo: TEMPOS.includes(running.tempo) ? running.tempo : 1 }];
    });
  }
}
