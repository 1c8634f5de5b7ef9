// QWOP on the page, where a policy is corrected: the runner drawn from rows of numbers.

import { $, figures } from "./elements.js";
import { BITS, Keyboard } from "./keyboard.js";
import { FRAME, LiveGame, MOST_AHEAD } from "./live_game.js";
import { Scene } from "./scene.js";

export class Qwop {
  static async load(canvas) {
    return new Qwop(await Scene.load(canvas));
  }

  constructor(scene) {
    const { row, pose } = scene.data;
    Object.assign(this, { scene, size: row, pose, METRES: pose, SECONDS: pose + 1, KEYS: pose + 2 });
    this.bits = BITS;
    this.keyboard = new Keyboard(window);
    this.caps = [...document.querySelectorAll("[data-key]")];
    this.again = "Run again (R)";
    this.startRow = null; // the runner before the start
    this.slower = 1; // in slow motion
  }

  get ready() { return Boolean(this.startRow); }

  get frameLength() { return FRAME * this.slower; }

  reset() { this.startRow = null; }

  // The number of the game that a message is about, the index of its first frame, and its frames.
  read(data) {
    const [game, first] = new Float32Array(data, 0, 2);
    const flat = new Float32Array(data, 8);
    const rows = [];
    for (let at = 0; at < flat.length; at += this.size) rows.push(flat.subarray(at, at + this.size));
    return { game, first, frames: rows };
  }

  receive(live, { first, frames }) {
    if (first === 0) this.startRow = frames[0];
    live?.receive(first, frames);
  }

  begin(send, now) {
    const live = new LiveGame(send, this.keyboard, now, this.frameLength, MOST_AHEAD);
    live.receive(0, [this.startRow]);
    return live;
  }

  draw(now, live) {
    const row = live?.rows.length ? live.row(now, this.pose) : this.startRow;
    if (!row) return;
    this.scene.draw(row, null);
    $("metres").textContent = `${(row[this.SECONDS] ? row[this.METRES] : 0).toFixed(1)} m`; // before the first key, 0
    $("seconds").textContent = `${row[this.SECONDS].toFixed(2)} s`;
    const down = live && !live.over && this.person ? this.keyboard.mask : row[this.KEYS];
    for (const cap of this.caps) cap.classList.toggle("down", Boolean(down & BITS[cap.dataset.key]));
  }

  best(game) { return game ? `best ${figures(game)}` : ""; }

  result(ended) {
    const titles = { finished: "Finished", fell: "Fell", stopped: "Time is up" };
    const where = ended.outcome === "finished" ? `in ${figures(ended)}` : `after ${figures(ended)}`;
    return `${titles[ended.outcome]} ${where}`;
  }

  cells(game) { return [game.metres.toFixed(1), game.seconds.toFixed(2), game.outcome]; }
}
