// The list of games and policies in the drawer.

import { $, button, element, figures } from "./elements.js";
import { better, RECORD } from "./splits.js";

const DAY = 86_400_000; // ms

const HUMAN = { name: "Kurodo, the best human", outcome: "finished", metres: 100, seconds: RECORD.at(-1), kind: "human" };

// Days since 1970 of the player's own calendar, so that no time zone shows another day; 0 where the clock is not set.
export const dayOf = (time) => Math.max(Math.floor(time / DAY - new Date(time).getTimezoneOffset() / 1440), 0) || 0;
export const today = () => dayOf(Date.now());
export const dateOf = (day) => (day ? new Date(day * DAY).toLocaleDateString(undefined, { timeZone: "UTC" }) : "");

export class List {
  // actions: watch, race, link, file and discard, each of an entry; those that are there have buttons.
  constructor(actions) {
    this.actions = actions;
    this.from = null; // what had the focus before
    this.best = this.chosen = null; // entries that are marked
    $("close").addEventListener("click", () => this.toggle(false));
    $("drawer").addEventListener("close", () => {
      document.body.append($("toast"));
      this.from?.focus?.();
    });
    $("drawer").addEventListener("click", ({ target, clientX }) => { // beside the drawer
      if (target === $("drawer") && clientX < $("drawer").getBoundingClientRect().left) this.toggle(false);
    });
  }

  get open() { return $("drawer").open; }

  toggle(open) {
    if (open === this.open) return;
    if (open) {
      this.from = document.activeElement;
      $("drawer").append($("toast")); // everything outside is out of reach
      $("drawer").showModal();
      $("close").focus();
    } else {
      $("drawer").close();
    }
  }

  // own: your games; guests, builtin, board: other entries; best: your best game; chosen: the ghost's entry.
  show({ own, guests, builtin, board, best, chosen }) {
    $("nothing").hidden = own.length > 0;
    $("others").hidden = guests.length === 0;
    $("export").hidden = own.length === 0;
    Object.assign(this, { best, chosen });
    this.fill("own", [...own].reverse());
    this.fill("guests", guests);
    this.fill("builtin", builtin);
    this.showBoard(board);
  }

  // The board alone, while its runs are played one after the other. The best human's record is a line of it.
  showBoard(board) {
    const rows = board.map((run, index) => this.row(Object.assign(run, { place: index + 1 })));
    const behind = board.findIndex((run) => run.refused || better(HUMAN, run));
    rows.splice(behind < 0 ? rows.length : behind, 0, this.line("–", `${HUMAN.name}: ${figures(HUMAN)}, ${HUMAN.kind}`));
    $("board").replaceChildren(...rows);
  }

  // A row without actions.
  line(label, said) {
    const tr = document.createElement("tr");
    tr.append(element("td", label), element("td", said, { colSpan: 3 }));
    return tr;
  }

  fill(id, entries) {
    $(id).replaceChildren(...entries.map((entry) => this.row(entry)));
  }

  label({ place, name }) { return place ? `${place}. ${name}` : name; }

  row(entry) {
    if (entry.refused) return this.line(entry.name, `refused: ${entry.refused}`);
    const [best, chosen] = [entry === this.best, entry === this.chosen];
    const tr = document.createElement("tr");
    tr.classList.toggle("best", best);
    tr.classList.toggle("chosen", chosen);
    const own = entry.number !== undefined || entry.collection === "own";
    const recorded = entry.number !== undefined;
    const pace = entry.tempo && entry.tempo !== 1 ? `, at ${entry.tempo} ×` : "";
    const ended = entry.board ? entry.kind : entry.outcome;
    const problem = entry.problem ? `; not in the dataset: ${entry.problem}` : "";
    const said = entry.about ?? `${figures(entry)}, ${ended}${pace}${problem}`;
    tr.append(element("td", own ? `${entry.number ?? (problem ? "–" : "…")}` : this.label(entry)), element("td", said));
    if (own || entry.board) tr.append(element("td", dateOf(entry.day)));
    const actions = element("td", "", { className: "actions" });
    const { watch, race, link, file, discard } = this.actions;
    const label = recorded ? `game ${entry.number}` : entry.name;
    const add = (text, title, action) => action && actions.append(button(text, () => action(entry), { title, ariaLabel: `${text} ${label}` }));
    add("watch", "Play it back", watch);
    add(chosen ? "don’t race" : "race", chosen ? "Run without it" : "Run beside it", race);
    if (entry.keys || own) add("link", "Copy a link that holds the whole game", link);
    if (entry.keys || own) add("file", "Save its keys as a file", file);
    if (recorded) add("discard", "Remove this game", discard);
    tr.append(actions);
    return tr;
  }
}
