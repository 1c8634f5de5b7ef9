// The page: its parts, made and joined.

import { Board } from "./board.js";
import { bind } from "./controls.js";
import { $ } from "./elements.js";
import { loadEngine } from "./engine.js";
import { Games } from "./games.js";
import { Opponents } from "./ghosts.js";
import { Keyboard } from "./keyboard.js";
import { openKeys } from "./keys_file.js";
import { List } from "./list.js";
import { Race } from "./race.js";
import { Replay } from "./replay.js";
import { Scene } from "./scene.js";
import { policyEntry, Sharing } from "./sharing.js";
import { Sound } from "./sound.js";
import { read, write } from "./storage.js";
import { View } from "./view.js";

const COUNTED = "qwop.countdown";

const calm = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
const [scene, module] = await Promise.all([Scene.load($("view")), loadEngine()]).catch((error) => {
  const without = globalThis.WebAssembly ? error.message : "this browser has WebAssembly switched off, as in lockdown mode";
  $("title").textContent = "The page cannot be loaded";
  $("detail").textContent = `Reload it, or use another browser: ${without}.`;
  throw error;
});
if (calm) for (const strip of scene.data.strips) strip.share = 0; // the distance stands still
const view = new View(scene);
const keyboard = new Keyboard(window);
const sound = new Sound();
const board = new Board(module);
const recorder = document.querySelector("meta[name=recorder]") && await import("./recorder.js"); // of qwop-record
const games = recorder ? await recorder.open(module, view, () => race.refresh()) : new Games(module);
const opponents = new Opponents(module, games, () => { opponents.show(); showList(); race.changed(); });
const sharing = new Sharing(module, view, (entry) => opponents.add(entry));
const race = new Race(module, {
  view, keyboard, games, sound, opponents,
  listed: showList,
  choices: (game) => [...(games.coach?.choices(race, game) ?? []), ["Watch", () => watch(game)], ["Copy link", () => sharing.link(game)]],
});
const replay = new Replay(module, view, (entry) => opponents.rows(entry), () => race.bestSplits());
// The recorder's games are fetched when they are needed.
const loaded = (action) => async (entry) => {
  try {
    await games.load?.(entry);
  } catch {
    view.toast("It cannot be loaded: there is no recorder.");
    return;
  }
  action(entry);
};

const list = new List({
  watch: loaded(watch),
  race: loaded((entry) => opponents.race(entry)),
  link: loaded((entry) => sharing.link(entry)),
  file: loaded((entry) => sharing.file(entry)),
  discard: loaded((entry) => race.discard(entry)),
});

function showList() {
  const { guests, builtin, chosen } = opponents;
  list.show({ own: games.list, guests, builtin, board: board.runs, best: games.best, chosen });
}

function begin() {
  replay.close();
  list.toggle(false);
  race.begin();
}

function watch(entry) {
  if (!race.over) race.leave();
  list.toggle(false);
  replay.open(entry);
}

function leaveReplay() {
  replay.close();
  if (!race.over) return race.ready();
  view.state("over");
  return race.refresh();
}

// The game in the page's address, as a replay; false without one.
function openLink() {
  const game = sharing.linked();
  if (!game) return false;
  opponents.add(game);
  watch(game);
  return true;
}

bind(keyboard, {
  start: begin,
  restart: begin,
  pause: () => {
    if (list.open) list.toggle(false);
    else if (replay.entry) leaveReplay();
    else if (race.state === "paused") race.resume();
    else race.pause();
  },
  ghost: () => opponents.toggle(),
  list: () => {
    race.pause();
    showList();
    list.toggle(!list.open);
    if (list.open) board.load(() => list.showBoard(board.runs));
  },
  sound: () => document.querySelector("[data-do=sound]").setAttribute("aria-pressed", String(sound.toggle())),
  discard: () => { if (!race.over.game.discarded) race.discard(race.over.game); },
  film: (event) => replay.film.onKey(event),
  open: (files) => sharing.open(files),
  ...games.coach?.actions(race),
});
$("leave").addEventListener("click", leaveReplay);
$("race").addEventListener("click", () => { opponents.choose(replay.entry); begin(); });
$("name").value = games.name;
$("name").addEventListener("change", () => { games.name = $("name").value.trim(); $("name").value = games.name; });
$("name").addEventListener("keydown", ({ key }) => {
  if (key !== "Enter") return;
  $("name").blur();
  if (!list.open && ["ready", "over"].includes(race.state)) begin();
});
$("counted").checked = read(COUNTED, false) === true;
$("counted").addEventListener("change", () => write(COUNTED, $("counted").checked));
$("export").addEventListener("click", async () => {
  const found = [];
  for (const entry of games.list) await loaded((game) => { if (game.keys) found.push(game); })(entry);
  if (found.length) sharing.all(found, games.name);
});

window.addEventListener("blur", () => race.pause());
document.addEventListener("visibilitychange", () => { if (document.hidden) race.pause(); });
window.addEventListener("pagehide", () => { if (race.run?.played && !race.run.over) games.close(race.run); });
window.addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); }); // its game was left
window.addEventListener("hashchange", openLink);

race.ready();
view.draw(race.startRow, null);
performance.mark("first picture");
requestAnimationFrame(function frame(now) {
  requestAnimationFrame(frame);
  if (replay.entry) replay.tick(now);
  else race.tick(now);
});

// Those who run beside you come after the first picture.
try {
  const [weights, keys] = await Promise.all(["champion.safetensors", "champion_keys.txt"].map((name) => fetch(name)));
  opponents.own = [
    { ...openKeys(module, await keys.text(), ""), name: "the fastest game" },
    policyEntry(await weights.arrayBuffer(), "the champion", "the policy that finishes from every start"),
  ];
} catch {
  view.toast("Nobody runs beside you: the champion cannot be loaded.");
}
await race.recover();
if (!openLink()) await opponents.choose(opponents.choice);
document.body.dataset.loaded = "true";
try {
  if (location.protocol === "https:") await navigator.serviceWorker?.register("offline.js");
} catch { /* storage is forbidden: the page needs its connection */ }
