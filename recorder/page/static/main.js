// The page: its states, and the connection to the engine.

import { GameList } from "./game_list.js";
import { Keyboard } from "./keyboard.js";
import { FRAME, LiveGame } from "./live_game.js";
import { rowAt } from "./rows.js";
import { Scene } from "./scene.js";

const COUNTDOWN = ["3", "2", "1"];
const COUNT = 500; // ms each

const ATTEMPTS = 10; // to connect again
const BETWEEN_ATTEMPTS = 1000; // ms
const GOING_AWAY = 1001; // codes of a closed WebSocket
const TRY_LATER = 1013;

const $ = (id) => document.getElementById(id);
const body = document.body;

const settings = await (await fetch("settings.json")).json();
const scene = await Scene.load($("view"));
const { row: ROW, pose: POSE } = scene.data;
const [METRES, SECONDS, KEYS] = [POSE, POSE + 1, POSE + 2];

const keyboard = new Keyboard(window);
const games = new GameList($("games"), $("nothing"), { watch, race, discard });
const caps = [...document.querySelectorAll(".keys kbd")];

let socket = null;
let attempts = 0; // to connect since frames last came
let number = 0; // of the current game
let live = null; // the current LiveGame
let startRow = null; // the runner before the start
let countdown = null; // { since }
let watched = null; // { game, rows, since }
let ghost = null; // { game, rows, first }
let ended = null; // the last game's result, as the engine reported it

// --- the engine ---

function connect() {
  const address = new URL("play", location.href);
  address.protocol = "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.addEventListener("open", prepare);
  socket.addEventListener("message", ({ data }) => (typeof data === "string" ? onMessage(JSON.parse(data)) : onFrames(data)));
  socket.addEventListener("close", ({ code }) => {
    live = countdown = watched = null;
    if (code === GOING_AWAY || attempts === ATTEMPTS) {
      const kept = code === GOING_AWAY ? "Every game is in the dataset, as far as it was played." : "Every finished game is in the dataset.";
      state("closed");
      card("The recorder has stopped", kept, []);
    } else if (code === TRY_LATER) {
      state("lost");
      card("Too many pages", "Other pages play here already: close one of them.", []);
      setTimeout(connect, BETWEEN_ATTEMPTS);
    } else {
      state("lost");
      card("Connection lost", "Connecting to the recorder again …", []);
      attempts += 1;
      setTimeout(connect, BETWEEN_ATTEMPTS);
    }
  });
}

const send = (message) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

function onFrames(data) {
  attempts = 0;
  const [game, first] = new Float32Array(data, 0, 2);
  if (game !== number) return;
  const flat = new Float32Array(data, 8);
  const rows = [];
  for (let at = 0; at < flat.length; at += ROW) rows.push(flat.subarray(at, at + ROW));
  if (first === 0) startRow = rows[0];
  live?.receive(first, rows);
}

async function onMessage(message) {
  if (message.type === "ended" && message.game === number) {
    if (live) live.over = true;
    ended = message;
    await games.refresh();
    over();
  } else if (message.type === "discarded") {
    await games.refresh();
    if (ghost?.game.collection === "own" && ghost.game.name === message.name) setGhost(null);
    if (ended?.name === message.name) {
      ended = { ...ended, name: null, discarded: true };
      if (body.dataset.state === "over") over();
    }
    best();
  } else if (message.type === "not discarded") {
    $("detail").textContent = `It stays in the dataset: ${message.reason}.`;
  }
}

// --- states and panels ---

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

// Puts a new runner at the start.
function prepare() {
  live = watched = countdown = null;
  startRow = null;
  number += 1;
  send({ type: "start", game: number });
  state("ready");
  card("Run 100 metres", "Q and W move the thighs, O and P the calves. Press any of them to start.", [["Start", begin, true]]);
}

function begin() {
  prepare();
  state("countdown");
  countdown = { since: performance.now() };
}

function over() {
  state("over");
  best();
  const titles = { finished: "Finished", fell: "Fell", stopped: "Time is up" };
  const status = ended.name
    ? `Recorded as game ${numberOf(ended)}.`
    : ended.discarded ? "Discarded." : "Not recorded.";
  const choices = [[ended.name ? "Keep and run again (R)" : "Run again (R)", begin, true]];
  if (ended.name) {
    const game = games.find("own", ended.name);
    if (game) choices.push(["Watch", () => watch(game)]);
    choices.push(["Discard (X)", () => discard({ name: ended.name })]);
  }
  const where = ended.outcome === "finished" ? `in ${figures(ended)}` : `after ${figures(ended)}`;
  card(`${titles[ended.outcome]} ${where}`, status, choices);
}

async function watch(game) {
  const rows = await games.rows(game);
  drawer(false);
  number += 1; // so that late frames of the abandoned game are ignored
  send({ type: "start", game: number });
  live = countdown = null;
  watched = { game, rows, since: performance.now() };
  state("watching");
}

async function race(game) {
  const same = ghost?.game.collection === game.collection && ghost?.game.name === game.name;
  await setGhost(same ? null : game);
}

function discard(game) {
  send({ type: "discard", name: game.name });
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

function panel(row, ghostRow) {
  $("metres").textContent = `${row[METRES].toFixed(1)} m`;
  $("seconds").textContent = `${row[SECONDS].toFixed(2)} s`;
  const down = live && !live.over ? keyboard.mask : row[KEYS];
  for (const cap of caps) cap.classList.toggle("down", Boolean(down & { q: 1, w: 2, o: 4, p: 8 }[cap.dataset.key]));
  $("ghost").textContent = caption(row, ghostRow);
}

// The line about the ghost, or about the game that is played back.
function caption(row, ghostRow) {
  if (watched) return `${watched.game.player}, game ${numberOf(watched.game)}`;
  if (!ghostRow) return "";
  if (!row[SECONDS]) return `ghost of ${ghost.game.player}: ${figures(ghost.game)}`;
  const ahead = row[METRES] - ghostRow[METRES];
  return `ghost of ${ghost.game.player}: you are ${Math.abs(ahead).toFixed(1)} m ${ahead < 0 ? "behind" : "ahead"}`;
}

function frame(now) {
  requestAnimationFrame(frame);
  if (countdown) count(now);
  live?.tick(now);
  let row = startRow;
  if (watched) {
    const at = (now - watched.since) / FRAME;
    row = rowAt(watched.rows, ROW, POSE, at);
    if (at > watched.rows.length / ROW + 30) ended ? over() : prepare();
  } else if (live?.rows.length) {
    row = live.row(now, POSE);
  }
  if (!row) return;
  // The clocks of both runners start with their first key.
  const racing = ghost && !watched;
  const ghostRow = racing ? rowAt(ghost.rows, ROW, POSE, ghost.first - 1 + row[SECONDS] * 30) : null;
  scene.draw(row, ghostRow);
  panel(row, ghostRow);
}

function count(now) {
  const step = Math.floor((now - countdown.since) / COUNT);
  $("countdown").textContent = COUNTDOWN[step] ?? "";
  if (step < COUNTDOWN.length || !startRow) return;
  const game = number;
  live = new LiveGame((keys) => send({ type: "keys", game, keys }), keyboard, now);
  live.receive(0, [startRow]);
  countdown = null;
  state("playing");
}

// --- keys other than the game's ---

window.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const key = event.key.toLowerCase();
  const now = body.dataset.state;
  if (["closed", "lost", "loading"].includes(now)) return;
  if (key === "r") begin();
  else if (key === "l") drawer($("drawer").hidden);
  else if (key === "g") setGhost(ghost ? null : games.chosen ?? games.bestOf("embedded") ?? games.best);
  else if (key === "x" && now === "over" && ended?.name) discard({ name: ended.name });
  else if (key === "escape" && now === "watching") { watched = null; ended ? over() : prepare(); }
  else if (now === "ready" && ["q", "w", "o", "p", " ", "enter"].includes(key)) begin();
});

$("close").addEventListener("click", () => drawer(false));

// --- start ---

$("where").textContent = `recording into ${settings.folder}`;
await games.refresh();
best();
const first = { embedded: () => games.bestOf("embedded"), best: () => games.best, other: () => games.bestOf("other") };
await setGhost(first[settings.ghost]?.() ?? null);
connect();
requestAnimationFrame(frame);
