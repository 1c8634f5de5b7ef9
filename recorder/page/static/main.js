// The page: its states, and the connection to the engine.

import { Coach, COACH_KEYS } from "./coach.js";
import { $, button, numberOf } from "./elements.js";
import { GameList } from "./game_list.js";
import { nameOf } from "./keyboard.js";
import { Pictures } from "./pictures.js";

const ATTEMPTS = 10; // to connect again
const BETWEEN_ATTEMPTS = 1000; // ms
const GOING_AWAY = 1001; // codes of a closed WebSocket
const TRY_LATER = 1013;

const KEYS = { r: "restart", l: "list", x: "discard", escape: "pause" }; // of the page itself

const body = document.body;

const settings = await (await fetch("settings.json")).json();
const game = new Pictures($("view"), settings.environment);
const coach = settings.coach ? new Coach(settings.coach, game) : null; // where a policy is corrected
const games = new GameList($("games"), $("nothing"), (entry) => game.cells(entry), discard);

let socket = null;
let attempts = 0; // to connect since frames last came
let number = 0; // of the current game
let live = null; // the current LiveGame
let starting = false; // until the first picture of the game, or that of an earlier state, is there
let ended = null; // the last game's result, as the engine reported it

// --- the engine ---

function connect() {
  const address = new URL("play", location.href);
  address.protocol = "ws:";
  try {
    socket = new WebSocket(address);
  } catch (error) {
    state("closed");
    card("No connection", `This browser forbids WebSocket, without which nothing is played here (${error.message}).`, []);
    return;
  }
  socket.binaryType = "arraybuffer";
  socket.addEventListener("open", prepare);
  socket.addEventListener("message", ({ data }) => (typeof data === "string" ? onMessage(JSON.parse(data)) : onFrames(data)));
  socket.addEventListener("close", ({ code }) => {
    live = null;
    if (code === GOING_AWAY || attempts === ATTEMPTS) {
      const kept = code === GOING_AWAY ? "Every game is in the dataset, as far as it was played." : "Every finished game is in the dataset.";
      state("closed");
      card("The recorder has stopped", kept, []);
      return;
    }
    state("lost");
    if (code === TRY_LATER) {
      card("Too many pages", "Other pages play here already: close one of them.", []);
    } else {
      card("Connection lost", "Connecting to the recorder again …", []);
      attempts += 1;
    }
    setTimeout(connect, BETWEEN_ATTEMPTS);
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
  live = null;
  starting = false;
  game.reset();
  number += 1;
  send({ type: "start", game: number });
  state("ready");
  card(game.title, game.help, [["Start", begin, true]]);
  if (game.keyHelp) $("detail").before(game.keyHelp);
}

function begin() {
  prepare();
  starting = true;
  state("playing");
}

// Goes back in the game, also from its end, and goes on there.
function goBack() {
  live = ended = null;
  game.reset();
  number += 1;
  send({ type: "back", game: number });
  starting = true;
  state("playing");
}

function over() {
  state("over");
  best();
  const status = ended.name
    ? `Recorded as game ${numberOf(ended.name)}.`
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

function pause() {
  if (body.dataset.state !== "playing" || !live || live.over) return;
  state("paused");
  card("Paused", "The clock stands still.", [["Go on (Esc)", () => state("playing"), true], ["Start again (R)", begin]]);
}

function frame(now) {
  requestAnimationFrame(frame);
  if (starting && game.ready) start(now);
  if (body.dataset.state !== "paused") live?.tick(now);
  game.draw(now, live);
}

function start(now) {
  const of = number;
  live = game.begin((keys) => send({ type: "keys", game: of, keys }), now);
  starting = false;
}

// --- keys and buttons ---

const actions = {
  restart: begin,
  list() {
    pause();
    games.refresh(); // going back has left games, too
    $("drawer").showModal();
  },
  discard() {
    if (body.dataset.state === "over" && ended.name) discard({ name: ended.name });
  },
  pause() {
    if (body.dataset.state === "paused") state("playing");
    else pause();
  },
  back() {
    const now = body.dataset.state;
    if (coach.settings.back && (["playing", "paused"].includes(now) || (now === "over" && !ended.discarded))) goBack();
  },
  handOver() {
    if (body.dataset.state === "playing" && (starting || (live && !live.over))) send({ type: "hand over", game: number });
  },
  slow: () => coach.slow(live, performance.now()),
};

function act(name) {
  if (["closed", "lost", "loading"].includes(body.dataset.state)) return;
  const listed = $("drawer").open;
  $("drawer").close();
  if (!listed || !["list", "pause"].includes(name)) actions[name]();
}

const keys = { ...KEYS, ...(coach ? COACH_KEYS : {}) };

window.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const key = nameOf(event, [...Object.keys(game.bits), ...Object.keys(keys)]);
  const onButton = event.target.closest?.("button"); // which these keys press
  const begins = key in game.bits || (!onButton && [" ", "enter"].includes(key));
  if (body.dataset.state === "ready" && !$("drawer").open && begins) begin();
  else if (keys[key]) {
    event.preventDefault();
    act(keys[key]);
  }
});

for (const made of document.querySelectorAll("[data-do]")) {
  made.addEventListener("click", () => { made.blur(); act(made.dataset.do); });
}

for (const cap of game.caps) {
  game.keyboard.addButton(cap, game.bits[cap.dataset.key], () => {
    if (body.dataset.state !== "ready") return false;
    begin();
    return true;
  });
}

$("close").addEventListener("click", () => $("drawer").close());
window.addEventListener("blur", pause);

// --- start ---

$("coach").hidden = $("coach-keys").hidden = !coach;
$("where").textContent = $("where").title = `recording into ${settings.folder}`;
await games.refresh();
best();
connect();
requestAnimationFrame(frame);
