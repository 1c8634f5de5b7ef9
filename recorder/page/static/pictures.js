// Any Gymnasium environment on the page: its own pictures, at a speed that suits a person.

import { $, element } from "./elements.js";
import { Keyboard } from "./keyboard.js";
import { LiveGame, MOST_AHEAD } from "./live_game.js";

const SMALL = 256; // pixels: pictures up to this width are enlarged without blurring

const GLYPHS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Space: "␣", Enter: "⏎", Shift: "⇧" };
const MOST_LARGE = 4; // buttons on either side

// A key's name as events have it.
const nameIn = (key) => (key === "Space" ? " " : key.toLowerCase());

const labelOf = (key) => GLYPHS[key] ?? key.toUpperCase();

// A button for each key, half of them under each thumb.
function showButtons(keys) {
  const sides = [...document.querySelectorAll(".keys")];
  const half = Math.ceil(keys.length / sides.length);
  sides.forEach((side, number) => {
    const own = keys.slice(number * half, (number + 1) * half);
    side.classList.toggle("many", half > MOST_LARGE);
    side.replaceChildren(...own.map((key) => {
      const cap = element("button", labelOf(key), { tabIndex: -1, ariaLabel: key });
      cap.dataset.key = nameIn(key);
      return cap;
    }));
  });
}

// The keys and what they do, as a list; combinations: [[keys, action], …].
function keyHelp(combinations) {
  const list = element("ul", "", { className: "key-help" });
  for (const [keys, action] of combinations) {
    const item = list.appendChild(element("li", ""));
    item.append(...keys.map((key) => element("kbd", key === "Space" ? key : labelOf(key))), action.toLowerCase());
  }
  return list;
}

export class Pictures {
  // environment: id, fps, keys, help, waits
  constructor(canvas, environment) {
    Object.assign(this, { canvas, frame: 1000 / environment.fps, slower: 1, picture: null, last: 0, total: 0, games: 0 });
    this.bits = Object.fromEntries(environment.keys.map((key, index) => [nameIn(key), 1 << index]));
    this.keyboard = new Keyboard(window, this.bits);
    showButtons(environment.keys);
    this.caps = [...document.querySelectorAll("[data-key]")];
    this.title = environment.id;
    const waits = environment.waits ? "The game waits while no key is down. " : "";
    this.help = `${waits}Press any key of the game to start.`;
    this.keyHelp = keyHelp(environment.help);
    this.again = "Play again (R)";
    document.body.classList.add("pictures");
    document.title = `${environment.id}: play and record`;
    canvas.setAttribute("aria-label", `Picture of ${environment.id}`);
    for (const [id, text] of [["first-figure", "return"], ["second-figure", "steps"]]) $(id).textContent = text;
  }

  get ready() { return Boolean(this.picture); }

  get frameLength() { return this.frame * this.slower; }

  reset() {
    this.picture = null;
    this.last = this.total = 0;
    this.games += 1;
  }

  read(data) {
    const [game, first, total] = new Float32Array(data, 0, 3);
    return { game, first, total, file: data.byteLength > 12 ? new Blob([data.slice(12)], { type: "image/png" }) : null };
  }

  async receive(live, { first, total, file }) {
    live?.receive(first, [null]);
    this.total = total;
    if (!file) return;
    const of = this.games;
    const picture = await createImageBitmap(file);
    if (of !== this.games || first < this.last) return; // decoded late
    Object.assign(this, { picture, last: first });
  }

  begin(send, now) {
    const live = new LiveGame(send, this.keyboard, now, this.frameLength, MOST_AHEAD);
    live.receive(0, [null]);
    return live;
  }

  draw() {
    const { canvas, picture } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    $("metres").textContent = `return ${this.total.toFixed(1)}`;
    for (const cap of this.caps) cap.classList.toggle("down", Boolean(this.keyboard.mask & this.bits[cap.dataset.key]));
    if (!picture) return;
    const scale = Math.min(width / picture.width, height / picture.height);
    const [w, h] = [picture.width * scale, picture.height * scale];
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = picture.width > SMALL;
    context.clearRect(0, 0, width, height);
    context.drawImage(picture, (width - w) / 2, (height - h) / 2, w, h);
  }

  best(game) { return game ? `best return ${game.total.toFixed(1)}` : ""; }

  result({ outcome, total, steps, problem }) {
    const title = problem ?? (outcome === "terminated" ? "Game over" : "Time is up");
    return `${title}: return ${total.toFixed(1)} in ${steps} steps`;
  }

  cells(game) { return [game.total.toFixed(1), `${game.steps}`, game.outcome]; }
}
