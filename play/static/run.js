// Your run: the game at the clock's pace, or slower, with pauses; beside you the ghost.

import { Game, POSE } from "./engine.js";
import { Sha256, stateBytes } from "./digest.js";
import { FRAME, LiveGame } from "./live_game.js";
import { flat } from "./rows.js";

export class Run {
  // tempo: 1 for the game's own pace, 0.5 for half of it. now: when the first frame begins, ms.
  constructor(module, keyboard, ghost, now, tempo) {
    Object.assign(this, { keyboard, tempo, pausedAt: null });
    this.game = new Game(module);
    this.digest = new Sha256().update(stateBytes(this.game));
    this.race(ghost);
    this.live = new LiveGame((keys) => keys.forEach((held) => this.play(held)), keyboard, now, FRAME / tempo);
    this.live.receive(0, [this.game.row()]);
  }

  // From now on beside this ghost, which is where it would be had it begun with you.
  race(ghost) {
    this.ghost = ghost;
    ghost?.begin();
    for (const held of this.game.keys) ghost?.step(held);
  }

  play(held) {
    if (this.game.ended) return;
    this.game.step(held);
    this.digest.update(stateBytes(this.game));
    this.ghost?.step(held);
    this.live.receive(this.game.keys.length, [this.game.row()]);
    this.live.over = this.game.ended;
  }

  tick(now) { if (this.pausedAt === null) this.live.tick(now); }

  pause(now) { this.pausedAt ??= now; }

  resume(now) {
    if (this.pausedAt === null) return;
    this.live.start += now - this.pausedAt;
    this.pausedAt = null;
  }

  // The rows to draw: yours and, perhaps, the ghost's.
  rows(now) {
    const time = this.pausedAt ?? now;
    const own = this.live.row(time, POSE);
    return [own, this.ghost?.at(this.live.at(time), own[POSE + 1]) ?? null];
  }

  get over() { return this.game.ended; }

  // True once a key was pressed; other games are not kept.
  get played() { return this.game.first !== null; }

  // The keys to show as held; undefined for those of the frame that is drawn.
  get down() { return this.over ? undefined : this.keyboard.mask; }

  // The game as far as it was played; the run ends with it.
  result() {
    const { keys, metres, seconds, ended, outcome } = this.game;
    this.sha256 ??= this.digest.hex();
    const { sha256, tempo } = this;
    return { keys, sha256, metres, seconds, outcome: ended ? outcome : "stopped", tempo };
  }

  flat() { return flat(this.live.rows); }
}
