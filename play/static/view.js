// Everything that the page shows beside the picture: figures, the card, the keys, short messages, announcements.

import { $, button, element } from "./elements.js";
import { POSE } from "./engine.js";
import { BITS } from "./keyboard.js";
import { difference, exact, MARKS, RECORD } from "./splits.js";

const [METRES, SECONDS, KEYS] = [POSE, POSE + 1, POSE + 2];
const TOAST = 8000; // ms

export class View {
  constructor(scene) {
    this.scene = scene;
    this.caps = [...document.querySelectorAll("[data-key]")];
    this.shown = {}; // texts, so that only what changes is written
    this.toastEnds = null;
    this.frame = []; // what is drawn; nothing after the canvas has another size
    window.addEventListener("resize", () => { this.frame = []; });
  }

  write(id, text) {
    if (this.shown[id] === text) return;
    this.shown[id] = text;
    $(id).textContent = text;
  }

  // row, ghost: frames to draw; down: keys to show.
  draw(row, ghost, down = row[KEYS]) {
    const frame = [...row, ...(ghost ?? []), down];
    if (frame.length === this.frame.length && frame.every((number, index) => number === this.frame[index])) return; // nothing moves
    this.frame = frame;
    this.scene.draw(row, ghost);
    this.write("metres", `${(row[SECONDS] ? row[METRES] : 0).toFixed(1)} m`); // before the first key, 0
    this.write("seconds", `${row[SECONDS].toFixed(2)} s`);
    for (const cap of this.caps) cap.classList.toggle("down", Boolean(down & BITS[cap.dataset.key]));
  }

  // The line about the ghost.
  ahead(title, row, ghost) {
    if (!title || !ghost) return this.write("ghost", title ?? "");
    const by = row[METRES] - ghost[METRES];
    return this.write("ghost", row[SECONDS] ? `${title}: you are ${Math.abs(by).toFixed(1)} m ${by < 0 ? "behind" : "ahead"}` : title);
  }

  // A mark just passed. best: your best game's times.
  split(index, seconds, best) {
    const parts = [`${MARKS[index]} m in ${seconds.toFixed(2)} s`, `record ${difference(seconds, RECORD[index])}`];
    const own = difference(seconds, best?.[index]);
    if (own) parts.push(`your best ${own}`);
    this.write("split", parts.join(" · "));
  }

  state(name) { document.body.dataset.state = name; }

  // choices: [text, action, main]. splits: [seconds, best], or null.
  card(title, detail, choices, splits = null) {
    $("title").textContent = title;
    $("detail").textContent = detail;
    $("announcer").textContent = `${title}. ${detail}`; // to those who hear the page
    $("splits").hidden = !splits?.[0].some((time) => time !== null);
    if (splits) this.table(...splits);
    $("choices").replaceChildren(...choices.map(([text, action, main]) => button(text, action, { className: main ? "main" : "" })));
    $("card").scrollTop = 0;
    $("choices").querySelector(".main")?.focus({ preventScroll: true });
  }

  table(seconds, best) {
    const row = (kind, cells) => {
      const tr = document.createElement("tr");
      tr.append(...cells.map((text, index) => element(index ? kind : "th", text)));
      return tr;
    };
    const time = (value, about = "") => (value === null || value === undefined ? "–" : about + value.toFixed(2));
    const rows = [row("th", ["", ...MARKS.map((mark) => `${mark} m`)]), row("td", ["you", ...seconds.map((value) => time(value))])];
    if (best) rows.push(row("td", ["your best", ...best.map((value) => time(value))]));
    rows.push(row("td", ["record", ...RECORD.map((value, index) => time(value, exact(index) ? "" : "≈"))]));
    $("splits").replaceChildren(...rows);
  }

  // A message that goes by itself. action: what its button does, or null.
  toast(text, action = null, label = "Undo") {
    const [said, act] = $("toast").children;
    said.textContent = text;
    act.textContent = label;
    act.hidden = !action;
    act.onclick = () => { this.hideToast(); action(); };
    $("toast").classList.add("shown");
    clearTimeout(this.toastEnds);
    this.toastEnds = setTimeout(() => this.hideToast(), TOAST);
  }

  hideToast() { $("toast").classList.remove("shown"); }
}
