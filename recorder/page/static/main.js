// The page: its states, and the connection to the engine.

import { Coach, COACH_KEYS } from "./coach.js";
import { $, button } from "./elements.js";
import { GameList, numberOf } from "./game_list.js";
import { Pictures } from "./pictures.js";
import { Qwop } from "./qwop.js";

const COUNTDOWN = ["3", "2", "1"];
const COUNT = 500; // ms each

const ATTEMPTS = 10; // to connect again
const BETWEEN_ATTEMPTS = 1000; // ms
const GOING_AWAY = 1001; // codes of a closed WebSocket
const TRY_LATER = 1013;

const body = document.body;

const settings = await (await fetch("settings.json")).json();
const { environment } = settings; // null for QWOP
const game = environment ? new Pictures($("view"), environment) : await Qwop.load($("view"));
const coach = settings.coach ? new Coach(settings.coach, game) : null; // where a policy is corrected
const games = new GameList($("games"), $("nothing"), (entry) => game.cells(entry), discard);

let socket = null;
let attempts = 0; // to connect since frames last came
let number = 0; // of the current game
let live = null; // the current LiveGame
let countdown = null; // { since }
let resuming = false; // after going back, until the state is there
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
    live = countdown = null;
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
  const received = game.read(data);
  if (received.game === number) game.receive(live, received);
}

async function onMessage(message) {
  if (message.type === "ended" && message.game === number) {
    if (live) live.over = true;
    await games.refresh();
    if (message.game !== number) return; // gone back, or begun anew, while the list was loaded
    ended = message;
    over();
  } else if (message.type === "control" && message.game === number) {
    coach.show(message.person, message.waiting);
  } else if (message.type === "discarded") {
    await games.refresh();
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
  game.keyHelp?.remove();
  $("choices").replaceChildren(...choices.map(([text, action, main]) => button(text, action, { className: main ? "main" : "" })));
}

function best() {
  $("best").textContent = game.best(games.best);
}

// Starts a new game, which does not move yet.
function prepare() {
  live = countdown = null;
  resuming = false;
  game.reset();
  number += 1;
  send({ type: "start", game: number });
  state("ready");
  card(game.title, game.help, [["Start", begin, true]]);
  if (game.keyHelp) $("detail").before(game.keyHelp);
}

function begin() {
  prepare();
  state("countdown");
  countdown = { since: environment?.waits ? -Infinity : performance.now() }; // a game that waits need not be counted in
}

// Goes back in the game, also from its end, and goes on there.
function goBack() {
  live = countdown = ended = null;
  game.reset();
  number += 1;
  send({ type: "back", game: number });
  resuming = true;
  state("playing");
}

function over() {
  state("over");
  best();
  const status = ended.name
    ? `Recorded as game ${numberOf(ended)}.`
    : ended.discarded ? "Discarded." : "Not recorded.";
  const again = ended.name ? `Keep and ${game.again.toLowerCase().replace("(r)", "(R)")}` : game.again;
  const choices = [[again, begin, true]];
  if (coach?.settings.back && !ended.discarded) choices.push(["Go back (Backspace)", goBack]);
  if (ended.name) choices.push(["Discard (X)", () => discard({ name: ended.name })]);
  card(game.result(ended), status, choices);
}

function discard(entry) {
  send({ type: "discard", name: entry.name });
}

function drawer(open) {
  $("drawer").hidden = !open;
  if (open) $("close").focus();
}

function frame(now) {
  requestAnimationFrame(frame);
  if (countdown) count(now);
  if (resuming && game.ready) start(now);
  live?.tick(now);
  game.draw(now, live);
}

function count(now) {
  const step = Math.floor((now - countdown.since) / COUNT);
  $("countdown").textContent = COUNTDOWN[step] ?? "";
  if (step < COUNTDOWN.length || !game.ready) return;
  start(now);
}

function start(now) {
  const of = number;
  live = game.begin((keys) => send({ type: "keys", game: of, keys }), now);
  countdown = null;
  resuming = false;
  state("playing");
}

// --- keys other than the game's ---

window.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const now = body.dataset.state;
  if (["closed", "lost", "loading"].includes(now)) return;
  const key = game.keyOf(event);
  const onButton = event.target.closest?.("button"); // which these keys press
  if (coach && COACH_KEYS.includes(key)) {
    event.preventDefault();
    const under = now === "playing" && (resuming || (live && !live.over));
    const back = now === "playing" || (now === "over" && !ended.discarded);
    if (key === "backspace" && coach.settings.back && back) goBack();
    else if (key === "t" && under) send({ type: "hand over", game: number });
    else if (key === "m") coach.slow(live, performance.now());
  } else if (key === "r") begin();
  else if (key === "l") drawer($("drawer").hidden);
  else if (key === "x" && now === "over" && ended?.name) discard({ name: ended.name });
  else if (now === "ready" && (game.startKeys.includes(key) || (!onButton && [" ", "enter"].includes(key)))) begin();
});

$("close").addEventListener("click", () => drawer(false));

// --- start ---

$("coach").hidden = $("coach-keys").hidden = !coach;
$("where").textContent = `recording into ${settings.folder}`;
await games.refresh();
best();
connect();
requestAnimationFrame(frame);
