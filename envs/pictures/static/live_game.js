// The game being played: which frames are due, their keys, and the pose to draw.

import { interpolate } from "./rows.js";

export const FRAME = 1000 / 30; // ms per frame of QWOP
export const MOST_AHEAD = 4; // frames that may be requested of a recorder before the oldest is shown: it may be slow, or stand still

const MAX_LAG = 8; // frames; after a longer gap (a hidden page) the game continues where it stopped

export class LiveGame {
  // send(keys): requests one frame for each of these keys. now: start of the first frame, ms. frame: its length, ms.
  // ahead: frames that may be requested beyond those received, after which the game waits for them.
  constructor(send, keyboard, now, frame = FRAME, ahead = Infinity) {
    Object.assign(this, { send, keyboard, start: now, frame, ahead, requested: 0, rows: [], over: false });
  }

  // Requests the frames that are due.
  tick(now) {
    if (this.over) return;
    const { frame } = this;
    const lag = (now - this.start) / frame - this.requested;
    if (lag > MAX_LAG) this.start += (lag - 1) * frame;
    const keys = [];
    while (this.start + (this.requested + 1) * frame <= now) {
      if (this.requested - (this.rows.length - 1) >= this.ahead) break;
      const from = this.start + this.requested * frame;
      keys.push(this.keyboard.during(from, from + frame));
      this.requested += 1;
    }
    if (keys.length) this.send(keys);
  }

  // Changes the length of a frame from now on.
  setFrame(now, frame) {
    this.start = now - ((now - this.start) / this.frame) * frame;
    this.frame = frame;
  }

  receive(first, rows) {
    rows.forEach((row, index) => { this.rows[first + index] = row; });
  }

  // The frame to draw now, with a fraction: one frame behind the clock, so that there is usually a next row to
  // interpolate to.
  at(now) {
    return Math.min(Math.max((now - this.start) / this.frame - 1, 0), this.rows.length - 1);
  }

  row(now, pose) {
    const at = this.at(now);
    const index = Math.floor(at);
    const next = this.rows[index + 1];
    return next ? interpolate(this.rows[index], next, at - index, pose) : this.rows[index];
  }
}
