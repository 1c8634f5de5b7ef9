// Plays recorded games in a page that needs no server.

import { Player } from "./player.js";
import { image, Scene } from "./scene.js";

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

const root = document.querySelector(".player");
const { scene: data, tiles, clips } = JSON.parse(document.getElementById("player-data").textContent);
const names = Object.keys(tiles);
const images = await Promise.all(names.map((name) => image(tiles[name])));
const pictures = Object.fromEntries(names.map((name, index) => [name, images[index]]));
const scene = new Scene(root.querySelector("canvas"), data, pictures);
const [metres, seconds, choice] = [".metres", ".seconds", ".clip"].map((name) => root.querySelector(name));
const caps = [...root.querySelectorAll("kbd[data-key]")];

const player = new Player(root, scene, (row) => {
  scene.draw(row, null);
  metres.textContent = `${row[data.pose].toFixed(1)} m`;
  seconds.textContent = `${row[data.pose + 1].toFixed(2)} s`;
  for (const cap of caps) cap.classList.toggle("down", (row[data.pose + 2] & LETTERS[cap.dataset.key]) !== 0);
});

async function open(index) {
  choice.value = index;
  const rows = await unpack(clips[index], data.row);
  if (Number(choice.value) === index) player.open(rows); // else another was chosen meanwhile
}

clips.forEach((clip, index) => choice.add(new Option(clip.title, index)));
choice.hidden = clips.length < 2;
choice.addEventListener("change", () => open(Number(choice.value)));
document.addEventListener("watch", (event) => open(event.detail));
requestAnimationFrame(function tick(now) {
  player.tick(now);
  requestAnimationFrame(tick);
});
await open(0);
