// The runners beside you. A ghost's clock starts with your first key.

import { $, figures } from "./elements.js";
import { Game, POSE, ROW } from "./engine.js";
import { play } from "./packed.js";
import { ACTION_KEYS } from "./policy.js";
import { interpolate, rowAt } from "./rows.js";

const BEGINNER = 50; // metres: whose best is below runs beside the pacer at first
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

export const titleOf = (entry) => (entry.number ? `your game ${entry.number}` : entry.name);

// Candidates: the pacer, your best, the page's own runners and board, and what was opened. One is chosen.
export class Opponents {
  // changed(): called after another choice. The choice is "pacer", "best", "none" or an entry.
  constructor(module, games, changed) {
    Object.assign(this, { module, games, changed, builtin: [], guests: games.others ?? [] });
    this.fast = (games.best?.metres ?? 0) >= BEGINNER; // the champion is the first choice, once it is there
    this.choice = games.ghost ?? (this.fast ? "none" : "pacer");
    this.hidden = "pacer"; // who comes back with the ghost key
  }

  // The page's own runners have come: entries { name, policy, about } or { name, keys, outcome, metres, seconds }.
  set own(entries) {
    this.builtin = entries;
    if (this.fast && !this.games.ghost) this.choice = entries.find(({ policy }) => policy) ?? "none";
  }

  rows(entry) {
    if (!entry.rows) ({ rows: entry.rows, sha256: entry.sha256 } = play(this.module, entry.keys));
    return entry.rows;
  }

  get record() { return this.builtin.find(({ keys }) => keys) ?? null; }

  get chosen() { return this.choice === "best" ? this.games.best : this.choice; }

  // The ghost of the choice; null for nobody.
  ghost() {
    const { choice, record } = this;
    if (choice === "pacer") return record && pacer({ ...record, rows: this.rows(record) }, this.games.best);
    const entry = this.chosen;
    if (!entry || entry === "none") return null;
    return entry.policy ? new Live(entry.name, this.module, entry.policy) : new Recorded(titleOf(entry), this.rows(entry));
  }

  async choose(choice) {
    await this.games.load?.(choice);
    this.choice = choice;
    this.changed();
  }

  // Chooses an entry, or nobody if it is the choice already.
  race(entry) { this.choose(this.chosen === entry ? "none" : entry); }

  toggle() {
    if (this.choice !== "none") this.hidden = this.choice;
    this.choose(this.choice === "none" ? this.hidden : "none");
  }

  // An entry that was opened comes first; an earlier one of the same game goes.
  add(entry) {
    this.guests = [entry, ...this.guests.filter(({ sha256 }) => !sha256 || sha256 !== entry.sha256)];
    return this.choose(entry);
  }

  // Fills the card's menu.
  show() {
    const { builtin, guests, choice, games: { best } } = this;
    const text = (entry) => (entry.policy ? `${entry.name}, live` : `${titleOf(entry)}, ${figures(entry)}`);
    const entries = new Set([...builtin, ...guests, ...(typeof choice === "string" ? [] : [choice])]);
    const all = [
      ["pacer", "Pacer (your pace)"],
      ...(best ? [["best", `Your best, ${figures(best)}`]] : []),
      ...Array.from(entries, (entry) => [entry, text(entry)]),
      ["none", "Nobody"],
    ];
    $("ghost-choice").replaceChildren(...all.map(([one, shown]) => new Option(shown, "", false, one === choice)));
    $("ghost-choice").onchange = ({ target }) => this.choose(all[target.selectedIndex][0]);
  }
}
