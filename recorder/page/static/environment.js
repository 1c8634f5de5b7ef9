// Games of any Gymnasium environment: the recorder plays them, and this page shows its pictures at a speed that suits a person.

import { Connection } from "./connection.js";
import { Control, Light, PERSON, POLICY, welcome } from "./control.js";
import { bind } from "./controls.js";
import { $, element, numberOf } from "./elements.js";
import { Keyboard } from "./keyboard.js";
import { LiveGame, MOST_AHEAD } from "./live_game.js";
import { View } from "./view.js";

const SMALL = 256; // pixels: pictures up to this width are enlarged without blurring
const HEADER = 3; // numbers before a picture
const [POLICY_ACTS, NOBODY] = [-1, -2]; // frames in which the person holds no keys, as the recorder has them
const LETTERS = { r: "restart", escape: "pause", backspace: "back", t: "handOver", m: "slow" };
const GLYPHS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Space: "␣", Enter: "⏎", Shift: "⇧" };

const settings = JSON.parse(document.querySelector("meta[name=recorder]").content);
const { environment, coach } = settings;

// A key's name as events have it.
const nameIn = (key) => (key === "Space" ? " " : key.toLowerCase());

const labelOf = (key) => GLYPHS[key] ?? key.toUpperCase();

// The keys and what they do, as a list.
function keyHelp() {
  const list = element("ul", "", { className: "key-help" });
  for (const [keys, action] of environment.help) {
    const item = list.appendChild(element("li", ""));
    item.append(...keys.map((key) => element("kbd", key === "Space" ? key : labelOf(key))), action.toLowerCase());
  }
  return list;
}

// The pictures of one game.
class Pictures {
  // control: of a game in which a policy plays, too, else null.
  constructor(number, control = null) { Object.assign(this, { number, control, live: null, picture: null, last: 0, total: 0 }); }

  async receive(data) {
    const [, last, total] = new Float32Array(data, 0, HEADER);
    this.live?.receive(last, [null]);
    this.total = total;
    if (data.byteLength === 4 * HEADER) return;
    const picture = await createImageBitmap(new Blob([data.slice(4 * HEADER)], { type: "image/png" }));
    if (last >= this.last) Object.assign(this, { picture, last }); // else it was decoded late
  }

  begin(now) {
    this.live = new LiveGame((keys) => this.send(keys), keyboard, now, frameLength(), MOST_AHEAD);
    this.live.receive(0, [null]);
  }

  send(held) {
    const keys = this.control ? held.map((keys) => this.acted(keys)) : held;
    connection.send({ type: "keys", game: this.number, keys });
  }

  // A frame in which the person holds these keys, as the recorder plays it.
  acted(held) {
    const actor = this.control.actor(held);
    return actor === PERSON ? held : actor === POLICY ? POLICY_ACTS : NOBODY;
  }

  draw() {
    const { picture } = this;
    view.write("metres", `return ${this.total.toFixed(1)}`);
    if (!picture || picture === shown) return;
    const canvas = Object.assign($("view"), { width: picture.width, height: picture.height });
    canvas.classList.toggle("small", picture.width <= SMALL);
    canvas.getContext("2d").drawImage(picture, 0, 0);
    shown = picture;
  }
}

document.body.classList.add("pictures");
document.title = `${environment.id}: play and record`;
$("view").setAttribute("aria-label", `Picture of ${environment.id}`);
const where = element("span", `recording into ${settings.folder}`, { className: "where", title: `recording into ${settings.folder}` });
document.querySelector("footer").append(where);
const help = keyHelp();
$("choices").before(help);

const bits = Object.fromEntries(environment.keys.map((key, index) => [nameIn(key), 1 << index]));
const keyboard = new Keyboard(window, bits);
const light = coach && new Light("M");
const view = new View(null);
let game = new Pictures(0, coach && new Control(0));
let shown = null; // the picture on the page
let starting = false; // until the first picture of the game, or that of an earlier state, is there
let ended = null; // the last game's result, as the recorder reported it

const state = () => document.body.dataset.state;
const frameLength = () => (1000 / environment.fps) * (light?.slower ?? 1);

function card(title, detail, choices, helps = false) {
  help.hidden = !helps;
  view.card(title, detail, choices);
}

// --- the recorder ---

const connection = new Connection(prepare, (message) => (message instanceof ArrayBuffer ? onPicture(message) : onMessage(message)), ({ stopped, full }) => {
  game.live = null;
  document.body.dataset.recorder = "lost";
  view.state("lost");
  if (stopped) card("The recorder has stopped", "Every game is in the dataset, as far as it was played.", []);
  else if (full) card("Too many pages", "Another page plays here already: close it.", []);
  else card("Connection lost", "Connecting to the recorder again …", []);
});

function onPicture(data) {
  if (new Float32Array(data, 0, 1)[0] === game.number) game.receive(data);
}

function onMessage(message) {
  if (message.type === "ended" && message.game === game.number) {
    if (game.live) game.live.over = true;
    ended = message;
    over();
  } else if (message.type === "discarded" && ended?.name === message.name) {
    ended = { ...ended, name: null, discarded: true };
    over();
  } else if (message.type === "not discarded") {
    view.toast(`It stays in the dataset: ${message.reason}.`);
  }
}

// --- games ---

function request(type) {
  ended = null;
  game = new Pictures(game.number + 1, coach && new Control(Math.round(coach.release * environment.fps)));
  connection.send({ type, game: game.number });
}

// Starts a new game, which does not move yet.
function prepare() {
  request("start");
  starting = false;
  document.body.dataset.recorder = "connected";
  view.state("ready");
  const waits = environment.waits ? "The game waits while no key is down. " : "";
  const words = coach ? welcome(coach) : [environment.id, `${waits}Press any key of the game to start.`];
  card(...words, [["Start", begin, true]], true);
}

function begin() {
  if (!connection.open) return;
  if (state() !== "ready") request("start");
  play();
}

function play() {
  starting = true;
  view.state("playing");
  document.activeElement?.blur();
}

function goBack() {
  request("back");
  game.control.wait(keyboard.mask);
  play();
}

function over() {
  starting = false; // a game that could not go back
  view.state("over");
  const { outcome, total, steps, problem, name, discarded } = ended;
  const title = `${problem || (outcome === "terminated" ? "Game over" : "Time is up")}: return ${total.toFixed(1)} in ${steps} steps`;
  const choices = [[name ? "Keep and play again (R)" : "Play again (R)", begin, true]];
  if (coach && !discarded) choices.push(["Go back (Backspace)", goBack]);
  if (name) choices.push(["Discard (X)", discard]);
  card(title, name ? `Recorded as game ${numberOf(name)}.` : discarded ? "Discarded." : "Not recorded.", choices);
}

function discard() { if (ended.name) connection.send({ type: "discard", name: ended.name }); }

function pause() {
  if (state() !== "playing" || !game.live || game.live.over) return;
  view.state("paused");
  card("Paused", "The clock stands still.", [["Go on (Esc)", () => view.state("playing"), true], ["Start again (R)", begin]]);
}

const coaching = coach && {
  back: () => { if (["playing", "paused"].includes(state()) || (state() === "over" && !ended.discarded)) goBack(); },
  handOver: () => { if (state() === "playing" && !game.live?.over) game.control.handOver(keyboard.mask); },
  slow: () => { light.slow(); game.live?.setFrame(performance.now(), frameLength()); },
};

bind(keyboard, {
  start: begin,
  restart: begin,
  pause: () => { if (state() === "paused") view.state("playing"); else pause(); },
  discard,
  open() {}, // files are none of an environment's
  ...coaching,
}, LETTERS);
window.addEventListener("blur", pause);

requestAnimationFrame(function frame(now) {
  requestAnimationFrame(frame);
  if (starting && game.picture) {
    game.begin(now);
    starting = false;
  }
  if (state() !== "paused") game.live?.tick(now);
  if (light) light.show(game.control);
  game.draw();
});
