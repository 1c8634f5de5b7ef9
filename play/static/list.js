// The list of games and policies in the drawer.

import { $, button, element, figures } from "./elements.js";
import { better, RECORD } from "./splits.js";

const DAY = 86_400_000; // ms

const HUMAN = { name: "Kurodo, the best human", outcome: "finished", metres: 100, seconds: RECORD.at(-1), kind: "human" };

// Days since 1970 of the player's own calendar, so that no time zone shows another day; 0 where the clock is not set.
export const dayOf = (time) => Math.max(Math.floor(time / DAY - new Date(time).getTimezoneOffset() / 1440), 0) || 0;
export const today = () => dayOf(Date.now());
export const dateOf = (day) => (day ? new Date(day * DAY).toLocaleDateString(undefined, { timeZone: "UTC" }) : "");

// A row of cells; one without actions has two, the second of which is wide.
function rowOf(label, about, ...more) {
  const tr = element("tr", "");
  tr.append(element("td", label), element("td", about, { colSpan: more.length ? 1 : 3 }), ...more);
  return tr;
}

export class List {
  // actions: watch, race, link, file and discard, each of an entry; those that are there have buttons.
  constructor(actions) {
    this.actions = actions;
    this.best = this.chosen = null; // entries that are marked
    $("close").addEventListener("click", () => this.toggle(false));
    $("drawer").addEventListener("close", () => document.body.append($("toast")));
    $("drawer").addEventListener("click", ({ target, clientX }) => { // beside the drawer
      if (target === $("drawer") && clientX < $("drawer").getBoundingClientRect().left) this.toggle(false);
    });
  }

  get open() { return $("drawer").open; }

  toggle(open) {
    if (open === this.open) return;
    if (!open) return $("drawer").close();
    $("drawer").append($("toast")); // everything outside is out of reach
    return $("drawer").showModal();
  }

  // own: your games; guests, builtin, board: other entries; best: your best game; chosen: the ghost's entry.
  show({ own, guests, builtin, board, best, chosen }) {
    $("nothing").hidden = own.length > 0;
    $("others").hidden = guests.length === 0;
    $("export").hidden = own.length === 0;
    Object.assign(this, { best, chosen });
    for (const [id, entries] of Object.entries({ own: [...own].reverse(), guests, builtin })) {
      $(id).replaceChildren(...entries.map((entry) => this.row(entry, entry.name)));
    }
    this.showBoard(board);
  }

  // The board alone, while its runs are played one after the other. The best human's record is a line of it.
  showBoard(board) {
    const rows = board.map((run, place) => this.row(run, `${place + 1}. ${run.name}`));
    const behind = board.findIndex((run) => run.refused || better(HUMAN, run));
    rows.splice(behind < 0 ? rows.length : behind, 0, rowOf("–", `${HUMAN.name}: ${figures(HUMAN)}, ${HUMAN.kind}`));
    $("board").replaceChildren(...rows);
  }

  row(entry, label) {
    const { name, refused, number, board, about, keys, problem } = entry;
    if (refused) return rowOf(name, `refused: ${refused}`);
    const recorded = number !== undefined;
    const own = recorded || entry.collection === "own";
    const pace = entry.tempo && entry.tempo !== 1 ? `, at ${entry.tempo} ×` : "";
    const unsaved = problem ? `; not in the dataset: ${problem}` : "";
    const actions = element("td", "", { className: "actions" });
    const add = (text, title, action) => {
      const ariaLabel = `${text} ${recorded ? `game ${number}` : name}`;
      if (action) actions.append(button(text, () => action(entry), { title, ariaLabel }));
    };
    const { watch, race, link, file, discard } = this.actions;
    const chosen = entry === this.chosen;
    add("watch", "Play it back", watch);
    add(chosen ? "don’t race" : "race", chosen ? "Run without it" : "Run beside it", race);
    if (keys || own) add("link", "Copy a link that holds the whole game", link);
    if (keys || own) add("file", "Save its keys as a file", file);
    if (recorded) add("discard", "Remove this game", discard);
    const tr = rowOf(
      own ? `${number ?? (problem ? "–" : "…")}` : label,
      about ?? `${figures(entry)}, ${board ? entry.kind : entry.outcome}${pace}${unsaved}`,
      ...(own || board ? [element("td", dateOf(entry.day))] : []),
      actions,
    );
    tr.classList.toggle("best", entry === this.best);
    tr.classList.toggle("chosen", chosen);
    return tr;
  }
}
