// Games played back: recorded ones, and those that a policy plays as you watch.

import { $, figures } from "./elements.js";
import { Game } from "./engine.js";
import { titleOf } from "./opponents.js";
import { prove, recorder } from "./packed.js";
import { Player as Film } from "./player.js";
import { Player } from "./policy.js";

const LONGEST_POLICY_GAME = 3000; // frames

export class Replay {
  // rowsOf(entry): all rows of a recorded game.
  constructor(module, view, rowsOf) {
    Object.assign(this, { module, view, rowsOf, entry: null, growing: null });
    this.film = new Film($("player"), view.scene, (row) => view.draw(row, null), false);
    $("proof").addEventListener("toggle", () => this.prove());
  }

  // The digest of all states, which is the same wherever the game is played exactly.
  prove() {
    const { entry } = this;
    if (!$("proof").open || !entry?.keys) return;
    entry.sha256 ??= prove(this.module, entry.keys).sha256;
    $("digits").textContent = entry.sha256;
  }

  open(entry) {
    Object.assign(this, { entry, growing: null });
    if (entry.policy) {
      const game = new Game(this.module);
      this.growing = { player: new Player(entry.policy, game), game, played: recorder(game) };
      this.grow(4);
    } else {
      this.film.open(this.rowsOf(entry));
    }
    $("player").hidden = false;
    $("proof").hidden = !entry.keys;
    this.prove();
    this.view.state("watching");
    this.view.write("split", "");
    this.view.write("ghost", entry.policy ? `${entry.name}, playing now` : `${titleOf(entry)}: ${figures(entry)}`);
    $("player").querySelector(".play").focus({ preventScroll: true });
  }

  close() {
    if (!this.entry) return;
    Object.assign(this, { entry: null, growing: null });
    this.film.open(null);
    $("player").hidden = true;
    this.view.write("ghost", "");
  }

  tick(now) {
    if (this.growing) this.grow(6);
    this.film.tick(now);
  }

  // Plays a watched policy on for some milliseconds, faster than it is shown.
  grow(budget) {
    const { player, game, played } = this.growing;
    const until = performance.now() + budget;
    const first = played.frames === 0;
    do {
      player.step();
      played.add();
    } while (performance.now() < until && !game.ended && played.frames < LONGEST_POLICY_GAME);
    if (first) this.film.open(played.rows());
    else this.film.extend(played.rows());
    if (game.ended || played.frames >= LONGEST_POLICY_GAME) this.growing = null;
  }
}
