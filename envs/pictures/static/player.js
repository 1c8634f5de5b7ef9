// Plays recorded games in a page that needs no server: play, pause, scrub, step, speed, and the keys held.

import { rowAt } from "./rows.js";
import { image, Scene } from "./scene.js";

const RATE = 30; // frames a second
const REST = 1; // seconds at the end before a game begins again
const LETTERS = { q: 1, w: 2, o: 4, p: 8 };

// The rows of a clip: differences from frame to frame, column by column, in parts of a unit.
async function unpack(clip, size) {
  const bytes = Uint8Array.from(atob(clip.rows), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const steps = new Int32Array(await new Response(stream).arrayBuffer());
  const count = steps.length / size;
  const rows = new Float32Array(steps.length);
  for (let column = 0; column < size; column += 1) {
    let sum = 0;
    for (let row = 0; row < count; row += 1) {
      sum += steps[column * count + row];
      rows[row * size + column] = sum / clip.parts;
    }
  }
  return rows;
}

class Player {
  constructor(root, scene, clips) {
    Object.assign(this, { root, scene, clips, frame: 0, playing: true, speed: 1, rows: null, before: null });
    const find = (name) => root.querySelector(name);
    [this.button, this.scrub, this.choice] = [find(".play"), find(".scrub"), find(".clip")];
    [this.metres, this.seconds, this.caps] = [find(".metres"), find(".seconds"), [...root.querySelectorAll("kbd[data-key]")]];
    this.button.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => { this.playing = false; this.frame = Number(this.scrub.value); });
    find(".speed").addEventListener("change", (event) => { this.speed = Number(event.target.value); });
    this.choice.addEventListener("change", () => this.open(Number(this.choice.value)));
    clips.forEach((clip, index) => this.choice.add(new Option(clip.title, index)));
    this.choice.hidden = clips.length < 2;
    root.addEventListener("keydown", (event) => this.onKey(event));
    requestAnimationFrame((now) => this.tick(now));
  }

  get last() {
    return this.rows ? this.rows.length / this.scene.data.row - 1 : 0;
  }

  async open(index) {
    this.choice.value = index;
    const rows = await unpack(this.clips[index], this.scene.data.row);
    if (Number(this.choice.value) !== index) return; // another was chosen meanwhile
    Object.assign(this, { rows, frame: 0, playing: true });
    this.scrub.max = this.last;
  }

  toggle() {
    if (!this.playing && this.frame >= this.last) this.frame = 0;
    this.playing = !this.playing;
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
    else if (step && event.target.tagName !== "SELECT") {
      this.playing = false;
      this.frame = Math.min(Math.max(Math.round(this.frame) + step, 0), this.last);
    } else return;
    event.preventDefault();
  }

  tick(now) {
    if (this.rows) {
      if (this.playing) {
        this.frame += ((now - (this.before ?? now)) / 1000) * RATE * this.speed;
        if (this.frame > this.last + REST * RATE) this.frame = 0;
      }
      this.show();
    }
    this.before = now;
    requestAnimationFrame((next) => this.tick(next));
  }

  show() {
    const { row: size, pose } = this.scene.data;
    const row = rowAt(this.rows, size, pose, this.frame);
    this.scene.draw(row, null);
    this.metres.textContent = `${row[pose].toFixed(1)} m`;
    this.seconds.textContent = `${row[pose + 1].toFixed(2)} s`;
    this.caps.forEach((cap) => cap.classList.toggle("down", (row[pose + 2] & LETTERS[cap.dataset.key]) !== 0));
    if (this.playing) this.scrub.value = Math.min(this.frame, this.last);
    const label = this.playing ? "Pause" : "Play";
    if (this.button.textContent !== label) this.button.textContent = label;
  }
}

const root = document.querySelector(".player");
const { scene: data, tiles, clips } = JSON.parse(document.getElementById("player-data").textContent);
const names = Object.keys(tiles);
const images = await Promise.all(names.map((name) => image(tiles[name])));
const pictures = Object.fromEntries(names.map((name, index) => [name, images[index]]));
const player = new Player(root, new Scene(root.querySelector("canvas"), data, pictures), clips);
document.addEventListener("watch", (event) => player.open(event.detail));
await player.open(0);
