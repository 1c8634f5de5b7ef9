// QWOP on the page: the runner drawn from rows of numbers, ghosts to race against, and games played back.

import { Keyboard, nameOf, PAGE_KEYS } from "./keyboard.js";
import { FRAME, LiveGame } from "./live_game.js";
import { rowAt } from "./rows.js";
import { Scene } from "./scene.js";

const $ = (id) => document.getElementById(id);

const BITS = { q: 1, w: 2, o: 4, p: 8 };

export const numberOf = (game) => Number(game.name.split("-").pop());

const figures = ({ outcome, metres, seconds }) => (
  outcome === "finished" ? `${seconds.toFixed(2)} s` : `${metres.toFixed(1)} m in ${seconds.toFixed(2)} s`
);

export class Qwop {
  static async load(canvas) {
    return new Qwop(await Scene.load(canvas));
  }

  constructor(scene) {
    const { row, pose } = scene.data;
    Object.assign(this, { scene, size: row, pose, METRES: pose, SECONDS: pose + 1, KEYS: pose + 2 });
    this.keyOf = (event) => nameOf(event, [...this.startKeys, ...PAGE_KEYS]);
    this.keyboard = new Keyboard(window);
    this.caps = [...document.querySelectorAll(".keys kbd")];
    this.title = "Run 100 metres";
    this.help = "Q and W move the thighs, O and P the calves. Press any of them to start.";
    this.keyHelp = null;
    this.again = "Run again (R)";
    this.startKeys = ["q", "w", "o", "p"];
    this.startRow = null; // the runner before the start
    this.watched = null; // { game, rows, since, over }
    this.person = true; // has control; else a policy has
    this.slower = 1; // in slow motion
    this.ghost = null; // { game, rows, first }
  }

  // --- the game ---

  get ready() { return Boolean(this.startRow); }

  get frameLength() { return FRAME * this.slower; }

  reset() { this.startRow = this.watched = null; }

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
    const live = new LiveGame(send, this.keyboard, now, this.frameLength);
    live.receive(0, [this.startRow]);
    return live;
  }

  // Draws a frame; returns true when a game that is played back has just ended.
  draw(now, live) {
    let row = this.startRow;
    let shown = false;
    if (this.watched) {
      const at = (now - this.watched.since) / FRAME;
      row = rowAt(this.watched.rows, this.size, this.pose, at);
      shown = !this.watched.over && at > this.watched.rows.length / this.size + 30;
      this.watched.over ||= shown;
    } else if (live?.rows.length) {
      row = live.row(now, this.pose);
    }
    if (!row) return shown;
    // The clocks of both runners start with their first key.
    const { ghost } = this;
    const racing = ghost && !this.watched;
    const ghostRow = racing
      ? rowAt(ghost.rows, this.size, this.pose, ghost.first - 1 + row[this.SECONDS] * 30) : null;
    this.scene.draw(row, ghostRow);
    this.panel(row, ghostRow, live);
    return shown;
  }

  panel(row, ghostRow, live) {
    $("metres").textContent = `${row[this.METRES].toFixed(1)} m`;
    $("seconds").textContent = `${row[this.SECONDS].toFixed(2)} s`;
    const down = live && !live.over && this.person ? this.keyboard.mask : row[this.KEYS];
    for (const cap of this.caps) cap.classList.toggle("down", Boolean(down & BITS[cap.dataset.key]));
    $("ghost").textContent = this.caption(row, ghostRow);
  }

  // The line about the ghost, or about the game that is played back.
  caption(row, ghostRow) {
    if (this.watched) return `${this.watched.game.player}, game ${numberOf(this.watched.game)}`;
    if (!ghostRow) return "";
    const { game } = this.ghost;
    if (!row[this.SECONDS]) return `ghost of ${game.player}: ${figures(game)}`;
    const ahead = row[this.METRES] - ghostRow[this.METRES];
    return `ghost of ${game.player}: you are ${Math.abs(ahead).toFixed(1)} m ${ahead < 0 ? "behind" : "ahead"}`;
  }

  // --- results ---

  best(game) { return game ? `best ${figures(game)}` : ""; }

  result(ended) {
    const titles = { finished: "Finished", fell: "Fell", stopped: "Time is up" };
    const where = ended.outcome === "finished" ? `in ${figures(ended)}` : `after ${figures(ended)}`;
    return `${titles[ended.outcome]} ${where}`;
  }

  cells(game) { return [game.metres.toFixed(1), game.seconds.toFixed(2), game.outcome]; }

  // --- games played back and raced against ---

  watch(game, rows) { this.watched = { game, rows, since: performance.now(), over: false }; }

  race(game, rows) {
    this.ghost = null;
    if (!game) return;
    let first = 0;
    while (first < rows.length / this.size - 1 && rows[first * this.size + this.SECONDS] === 0) first += 1;
    this.ghost = { game, rows, first };
  }
}
