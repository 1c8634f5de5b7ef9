// Games played back: recorded ones, and those that a policy plays as you watch.

import { $, figures } from "./elements.js";
import { ROW } from "./engine.js";
import { Live, titleOf } from "./ghosts.js";
import { Player } from "./player.js";
import { flat } from "./rows.js";
import { splitsOf } from "./splits.js";

const LONGEST_POLICY_GAME = 3000; // frames

export class Replay {
  // rowsOf(entry): all rows of a recorded game. bestSplits(): times of your best game.
  constructor(module, view, rowsOf, bestSplits) {
    Object.assign(this, { module, view, rowsOf, bestSplits, entry: null, growing: null });
    this.film = new Player($("player"), view.scene, (row) => { view.draw(row, null); this.split(); }, false);
  }

  open(entry) {
    Object.assign(this, { entry, growing: null, outcome: entry.outcome ?? "running" });
    if (entry.policy) {
      this.growing = new Live(entry.name, this.module, entry.policy);
      this.grow(4);
    } else {
      this.film.open(this.rowsOf(entry));
    }
    $("player").hidden = false;
    $("proof").hidden = !entry.keys;
    $("digits").textContent = entry.sha256; // the same wherever the game is played exactly
    this.view.state("watching");
    this.view.write("ghost", entry.policy ? `${entry.name}, playing now` : `${titleOf(entry)}: ${figures(entry)}`);
    $("player").querySelector(".play").focus({ preventScroll: true });
  }

  // The last mark that is passed at the frame shown, as while the game is played.
  split() {
    const { film: { rows, frame, last }, outcome } = this;
    if (!rows) return;
    const seconds = splitsOf(rows.subarray(0, (Math.floor(frame) + 1) * ROW), frame >= last ? outcome : "running");
    const passed = seconds.filter((time) => time !== null).length - 1;
    if (passed < 0) this.view.write("split", "");
    else this.view.split(passed, seconds[passed], this.bestSplits());
  }

  close() {
    if (!this.entry) return;
    Object.assign(this, { entry: null, growing: null });
    this.film.open(null);
    this.view.write("split", "");
    $("player").hidden = true;
    this.view.write("ghost", "");
  }

  tick(now) {
    if (this.growing) this.grow(6);
    this.film.tick(now);
  }

  // Plays a watched policy on for some milliseconds, faster than it is shown.
  grow(budget) {
    const { growing, growing: { game, kept } } = this;
    const until = performance.now() + budget;
    const first = kept.length === 1;
    do growing.step(1); while (performance.now() < until && !game.ended && kept.length <= LONGEST_POLICY_GAME);
    if (first) this.film.open(flat(kept));
    else this.film.extend(flat(kept));
    if (game.ended || kept.length > LONGEST_POLICY_GAME) Object.assign(this, { growing: null, outcome: game.outcome });
  }
}
