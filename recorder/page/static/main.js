// The page: what is shown when, and the talk with the engine.

import { FRAME, LiveGame, momentAt } from "./game.js";
import { Games } from "./games.js";
import { Keyboard } from "./keyboard.js";
import { Scene } from "./scene.js";

const COUNTDOWN = ["3", "2", "1"];
const COUNT = 500; // ms each

const $ = (id) => document.getElementById(id);
const body = document.body;

const settings = await (await fetch("settings.json")).json();
const scene = await Scene.load($("view"));
const { row: ROW, pose: POSE } = scene.data;
const [METRES, SECONDS, KEYS] = [POSE, POSE + 1, POSE + 2];

const keyboard = new Keyboard(window);
const games = new Games($("games"), $("nothing"), { watch, race, discard });
const caps = [...document.querySelectorAll(".keys kbd")];

let socket = null;
let number = 0; // of the game under way
let live = null;
let standing = null; // the runner before the start
let countdown = null; // { since }
let watched = null; // { game, rows, since }
let ghost = null; // { game, rows, first }
let ended = null; // the last game, as the engine told it

// --- the engine ---

function connect() {
  const address = new URL("play", location.href);
  address.protocol = "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.addEventListener("open", () => prepare());
  socket.addEventListener("message", ({ data }) => (typeof data === "string" ? told(JSON.parse(data)) : moved(data)));
  socket.addEventListener("close", () => {
    live = countdown = watched = null;
    state("closed");
    card("The recorder has stopped", "Every game that had ended is in the dataset.", []);
  });
}

const say = (message) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

function moved(data) {
  const [game, first] = new Float32Array(data, 0, 2);
  if (game !== number) return;
  const flat = new Float32Array(data, 8);
  const rows = [];
  for (let at = 0; at < flat.length; at += ROW) rows.push(flat.subarray(at, at + ROW));
  if (first === 0) standing = rows[0];
  live?.heard(first, rows);
}

async function told(message) {
  if (message.type === "ended" && message.game === number) {
    if (live) live.over = true;
    ended = message;
    await games.refresh();
    over();
  } else if (message.type === "discarded") {
    await games.refresh();
    if (ghost?.game.shelf === "own" && ghost.game.name === message.name) setGhost(null);
    if (ended?.name === message.name) {
      ended = { ...ended, name: null, discarded: true };
      if (body.dataset.state === "over") over();
    }
    best();
  }
}

// --- what is shown ---

function state(name) {
  body.dataset.state = name;
}

function card(title, detail, choices) {
  $("title").textContent = title;
  $("detail").textContent = detail;
  $("choices").replaceChildren(...choices.map(([text, action, main]) => {
    const button = document.createElement("button");
    button.textContent = text;
    button.classList.toggle("main", Boolean(main));
    button.addEventListener("click", action);
    return button;
  }));
}

const numberOf = (game) => Number(game.name.split("-").pop());

const figures = ({ outcome, metres, seconds }) => (
  outcome === "finished" ? `${seconds.toFixed(2)} s` : `${metres.toFixed(1)} m in ${seconds.toFixed(2)} s`
);

function best() {
  $("best").textContent = games.best ? `best ${figures(games.best)}` : "";
}

// A new runner at the start, not yet running.
function prepare() {
  live = watched = countdown = null;
  standing = null;
  number += 1;
  say({ type: "start", game: number });
  state("ready");
  card("Run 100 metres", "Q and W move the thighs, O and P the calves. Press a key to start.", [["Start", begin, true]]);
}

function begin() {
  prepare();
  state("countdown");
  countdown = { since: performance.now() };
}

function over() {
  state("over");
  best();
  const words = { finished: "Finished", fell: "Fell", stopped: "Time is up" };
  const kept = ended.name
    ? `Recorded as game ${numberOf(ended)}.`
    : ended.discarded ? "Discarded." : "Not recorded.";
  const choices = [["Keep and run again (R)", begin, true]];
  if (ended.name) {
    const game = games.find("own", ended.name);
    if (game) choices.push(["Watch", () => watch(game)]);
    choices.push(["Discard (X)", () => discard({ name: ended.name })]);
  }
  const where = ended.outcome === "finished" ? `in ${figures(ended)}` : `after ${figures(ended)}`;
  card(`${words[ended.outcome]} ${where}`, kept, choices);
}

async function watch(game) {
  const rows = await games.rows(game);
  drawer(false);
  number += 1; // what the engine still says of the game under way is not for us
  say({ type: "start", game: number });
  live = countdown = null;
  watched = { game, rows, since: performance.now() };
  state("watching");
}

async function race(game) {
  const same = ghost?.game.shelf === game.shelf && ghost?.game.name === game.name;
  await setGhost(same ? null : game);
}

function discard(game) {
  say({ type: "discard", name: game.name });
}

async function setGhost(game) {
  if (game === null) {
    ghost = null;
  } else {
    const rows = await games.rows(game);
    let first = 0;
    while (first < rows.length / ROW - 1 && rows[first * ROW + SECONDS] === 0) first += 1;
    ghost = { game, rows, first };
  }
  games.choose(game);
}

function drawer(open) {
  $("drawer").hidden = !open;
}

function panel(row, moment) {
  $("metres").textContent = `${row[METRES].toFixed(1)} m`;
  $("seconds").textContent = `${row[SECONDS].toFixed(2)} s`;
  const down = live && !live.over ? keyboard.mask : row[KEYS];
  for (const cap of caps) cap.classList.toggle("down", Boolean(down & { q: 1, w: 2, o: 4, p: 8 }[cap.dataset.key]));
  $("ghost").textContent = beside(row, moment);
}

// The line about the other runner, or about the game that is shown again.
function beside(row, moment) {
  if (watched) return `${watched.game.player}, game ${numberOf(watched.game)}`;
  if (!moment) return "";
  if (!row[SECONDS]) return `ghost of ${ghost.game.player}: ${figures(ghost.game)}`;
  const ahead = row[METRES] - moment[METRES];
  return `ghost of ${ghost.game.player}: you are ${Math.abs(ahead).toFixed(1)} m ${ahead < 0 ? "behind" : "ahead"}`;
}

function frame(now) {
  requestAnimationFrame(frame);
  if (countdown) count(now);
  live?.tick(now);
  let row = standing;
  if (watched) {
    const place = (now - watched.since) / FRAME;
    row = momentAt(watched.rows, ROW, POSE, place);
    if (place > watched.rows.length / ROW + 30) ended ? over() : prepare();
  } else if (live?.rows.length) {
    row = live.moment(now, POSE);
  }
  if (!row) return;
  // Both run since their first key.
  const running = ghost && !watched;
  const moment = running ? momentAt(ghost.rows, ROW, POSE, ghost.first - 1 + row[SECONDS] * 30) : null;
  scene.draw(row, moment);
  panel(row, moment);
}

function count(now) {
  const step = Math.floor((now - countdown.since) / COUNT);
  $("countdown").textContent = COUNTDOWN[step] ?? "";
  if (step < COUNTDOWN.length || !standing) return;
  const game = number;
  live = new LiveGame((keys) => say({ type: "keys", game, keys }), keyboard, now);
  live.heard(0, [standing]);
  countdown = null;
  state("playing");
}

// --- keys other than the runner's ---

window.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const key = event.key.toLowerCase();
  const now = body.dataset.state;
  if (now === "closed" || now === "loading") return;
  if (key === "r") begin();
  else if (key === "l") drawer($("drawer").hidden);
  else if (key === "g") setGhost(ghost ? null : games.chosen ?? games.bestOf("embedded") ?? games.best);
  else if (key === "x" && now === "over" && ended?.name) discard({ name: ended.name });
  else if (key === "escape" && now === "watching") { watched = null; ended ? over() : prepare(); }
  else if (now === "ready" && ["q", "w", "o", "p", " ", "enter"].includes(key)) begin();
});

$("close").addEventListener("click", () => drawer(false));

// --- the start ---

$("where").textContent = `recording into ${settings.folder}`;
await games.refresh();
best();
const first = { embedded: () => games.bestOf("embedded"), best: () => games.best, other: () => games.bestOf("other") };
await setGhost(first[settings.ghost]?.() ?? null);
connect();
requestAnimationFrame(frame);
