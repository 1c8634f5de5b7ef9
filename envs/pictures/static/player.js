// Controls of a recorded game: play, pause, scrub, step, speed.

import { rowAt } from "./rows.js";

const RATE = 30; // frames a second
const REST = 1; // seconds at the end before a game begins again

export class Player {
  // root: holds the controls: .play, .scrub, .speed and, perhaps, .back and .next. scene: of `scene.js`. show(row):
  // draws a frame. loops: a game begins again after its end.
  constructor(root, scene, show, loops = true) {
    Object.assign(this, { scene, show, loops, frame: 0, playing: true, speed: 1, rows: null, before: null, shown: null });
    const find = (name) => root.querySelector(name);
    [this.button, this.scrub] = [find(".play"), find(".scrub")];
    this.button.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => { this.playing = false; this.frame = Number(this.scrub.value); });
    find(".back")?.addEventListener("click", () => this.step(-1));
    find(".next")?.addEventListener("click", () => this.step(1));
    find(".speed").addEventListener("change", (event) => { this.speed = Number(event.target.value); });
    root.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("resize", () => { this.shown = null; }); // the picture is gone
  }

  get last() {
    return this.rows ? this.rows.length / this.scene.data.row - 1 : 0;
  }

  // rows: all frames of a game, flat; null shows nothing.
  open(rows) {
    Object.assign(this, { rows, frame: 0, playing: true, before: null, shown: null });
    this.scrub.max = this.last;
  }

  // More frames of the same game.
  extend(rows) {
    this.rows = rows;
    this.scrub.max = this.last;
  }

  toggle() {
    if (!this.playing && this.frame >= this.last) this.frame = 0;
    this.playing = !this.playing;
  }

  step(frames) {
    this.playing = false;
    this.frame = Math.min(Math.max(Math.round(this.frame) + frames, 0), this.last);
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " " && !event.target.matches("button, select, summary")) this.toggle();
    else if (step && event.target.tagName !== "SELECT") this.step(step);
    else return;
    event.preventDefault();
  }

  tick(now) {
    if (this.rows) {
      if (this.playing) {
        this.frame += ((now - (this.before ?? now)) / 1000) * RATE * this.speed;
        if (this.loops && this.frame > this.last + REST * RATE) this.frame = 0;
        if (!this.loops && this.frame >= this.last) Object.assign(this, { frame: this.last, playing: false });
      }
      const { row: size, pose } = this.scene.data;
      if (this.frame !== this.shown) this.show(rowAt(this.rows, size, pose, this.frame));
      this.shown = this.frame;
      if (Number(this.scrub.value) !== this.frame) this.scrub.value = Math.min(this.frame, this.last);
      const label = this.playing ? "Pause" : "Play";
      if (this.button.textContent !== label) this.button.textContent = label;
    }
    this.before = now;
  }
}
