// Candidates to run beside you: the pacer, your best, the page's own runners and board, and what was opened. One is chosen.

import { $, figures } from "./elements.js";
import { Live, pacer, Recorded } from "./ghosts.js";
import { play } from "./packed.js";

const BEGINNER = 50; // metres: whose best is below runs beside the pacer at first

export const titleOf = (entry) => (entry.number ? `your game ${entry.number}` : entry.name);

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
