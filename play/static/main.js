// The page: its states, and what the keys and buttons do.

import { Game, loadEngine, ROW } from "./engine.js";
import { better, Games } from "./games.js";
import { Live, pacer, Recorded } from "./ghosts.js";
import { isField, Keyboard } from "./keyboard.js";
import { openKeys, writeKeys } from "./keys_file.js";
import { List, today } from "./list.js";
import { pack, play, recorder, verify } from "./packed.js";
import { Player as Film } from "./player.js";
import { Player, Policy, Refused } from "./policy.js";
import { Run } from "./run.js";
import { Scene } from "./scene.js";
import { Sound } from "./sound.js";
import { MARKS, splitsOf } from "./splits.js";
import { $, figures, View } from "./view.js";

const COUNTDOWN = ["3", "2", "1"];
const COUNT = 500; // ms each
const POSE = ROW - 3;
const LONGEST_POLICY_GAME = 3000; // frames
const BEGINNER = 50; // metres: whose best is below runs beside the pacer at first
const KEEP = 500; // ms between two notes of the game under way
const BITS = { q: 1, w: 2, o: 4, p: 8 };

const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const [scene, module] = await Promise.all([Scene.load($("view")), loadEngine()]);
if (calm) for (const strip of scene.data.strips) strip.share = 0; // the distance stands still
const view = new View(scene);
const keyboard = new Keyboard(window);
const games = new Games();
const sound = new Sound();
const list = new List({ watch, race, link, file, discard });
const film = new Film($("player"), scene, showFilm, false);
const startRow = new Game(module).row();

let run = null; // your run
let countdown = null; // { since }
let over = null; // the game that has just ended: { game, splits, best }, game as in the list
let watched = null; // { entry, growing }
let builtin = []; // entries: { name, policy, about } or { name, outcome, metres, seconds, rows }
let guests = [];
let choice = null; // who runs beside you: "pacer", "best", "none" or an entry
let hidden = "pacer"; // who comes back with the ghost key
let passed = 0; // marks of the run
let announced = 0; // tens of metres
let noted = 0; // when the game under way was kept
let drawn = false; // true once a picture that stands still is drawn

const state = () => document.body.dataset.state;

// --- ghosts ---

function rowsOf(entry) {
  entry.rows ??= play(module, entry.keys).rows;
  return entry.rows;
}

const record = () => builtin.find((entry) => entry.rows);

function ghost() {
  if (choice === "pacer") return record() ? pacer(record(), games.best) : null;
  const entry = choice === "best" ? games.best : choice;
  if (!entry || entry === "none") return null;
  return entry.policy ? new Live(entry.name, module, entry.policy) : new Recorded(titleOf(entry), rowsOf(entry));
}

const titleOf = (entry) => (entry.number ? `your game ${entry.number}` : entry.name);

function showOptions() {
  const select = $("ghost-choice");
  const named = [["pacer", "Pacer (your pace)"], ...(games.best ? [["best", `Your best, ${figures(games.best)}`]] : [])];
  const entries = [...builtin, ...guests, ...(choice?.number ? [choice] : [])];
  select.replaceChildren(
    ...named.map(([value, text]) => new Option(text, value)),
    ...entries.map((entry) => new Option(entry.policy ? `${entry.name}, live` : `${titleOf(entry)}, ${figures(entry)}`, `entry ${entries.indexOf(entry)}`)),
    new Option("Nobody", "none"),
  );
  select.value = typeof choice === "string" ? choice : `entry ${entries.indexOf(choice)}`;
  select.onchange = () => {
    const index = /^entry (\d+)$/.exec(select.value)?.[1];
    choose(index === undefined ? select.value : entries[index]);
  };
}

function choose(entry) {
  choice = entry;
  showOptions();
  showList();
  const chosen = ghost();
  if (run && !run.over) run.race(chosen);
  drawn = false;
  view.ahead(chosen?.title, startRow, null);
}

function showList() {
  list.show({ own: games.list, guests, builtin, best: games.best, chosen: choice === "best" ? games.best : choice });
}

function showBest() {
  view.write("best", games.best ? `best ${figures(games.best)}` : "");
}

// --- your run ---

function ready() {
  leaveRun();
  over = null;
  view.state("ready");
  view.write("split", "");
  view.card("Run 100 metres", "Q and W move the thighs, O and P the calves. Nearly everybody falls over.", [["Start", begin, true]]);
  showOptions();
  showBest();
}

function begin() {
  leaveRun();
  list.toggle(false);
  view.hideToast();
  over = null;
  [passed, announced] = [0, 0];
  view.write("split", "");
  document.activeElement?.blur();
  countdown = { since: performance.now(), step: -1 };
  view.state("countdown");
}

function count(now) {
  const step = Math.floor((now - countdown.since) / COUNT);
  $("countdown").textContent = COUNTDOWN[step] ?? "";
  if (step !== countdown.step) sound.play(step < COUNTDOWN.length ? "tick" : "start");
  countdown.step = step;
  if (step < COUNTDOWN.length) return;
  countdown = null;
  run = new Run(module, keyboard, ghost(), now, Number($("tempo").value));
  view.state("playing");
}

// Ends what is under way; a run that was begun is kept, as far as it was played.
function leaveRun() {
  if (run?.played && !run.over) keep(run.result(), run.flat());
  run = countdown = watched = null;
  drawn = false;
  $("countdown").textContent = "";
  $("player").hidden = true;
}

// Keeps a game of yours; returns its entry.
function keep(result, rows) {
  const entry = { ...result, name: games.name, day: today() };
  const kept = games.add({ ...entry, packed: pack(module, entry), rows });
  games.forgetRunning();
  if (!games.kept) view.toast("This browser does not keep games: save those you like as files.");
  return kept;
}

function pause() {
  if (countdown) return ready();
  if (state() !== "playing" || !run || run.over) return null;
  run.pause(performance.now());
  keyboard.releaseAll();
  view.state("paused");
  view.card("Paused", "The clock stands still.", [["Go on (Esc)", resume, true], ["Start again (R)", begin]]);
  return null;
}

function resume() {
  document.activeElement?.blur();
  run.resume(performance.now());
  view.state("playing");
}

function drawRun(now) {
  run.tick(now);
  const still = run.still(now);
  if (still && drawn) return;
  drawn = still;
  const [own, other] = run.rows(now);
  view.draw(own, other, run.over ? undefined : keyboard.mask);
  view.ahead(run.ghost?.title, own, other);
  marks(own);
  if (run.over && state() === "playing") end();
  else if (run.played && !run.over && now - noted > KEEP) {
    noted = now;
    games.keepRunning(run.game.keys, run.tempo);
  }
}

function marks(row) {
  const best = bestSplits();
  while (passed < MARKS.length - 1 && row[POSE] >= MARKS[passed] && row[POSE + 1]) {
    view.split(passed, row[POSE + 1], best);
    sound.play("split");
    passed += 1;
  }
  if (Math.floor(row[POSE] / 10) > announced) {
    announced = Math.floor(row[POSE] / 10);
    view.announce(`${10 * announced} metres, ${row[POSE + 1].toFixed(1)} seconds`);
  }
}

const splitsCache = new WeakMap();
function bestSplits() {
  const { best } = games;
  if (!best) return null;
  if (!splitsCache.has(best)) splitsCache.set(best, splitsOf(rowsOf(best), ROW, POSE, best.outcome));
  return splitsCache.get(best);
}

function end() {
  const best = bestSplits();
  const before = games.best;
  const game = keep(run.result(), run.flat());
  over = { game, best, isBest: !before || better(game, before), splits: splitsOf(game.rows, ROW, POSE, game.outcome) };
  const finished = game.outcome === "finished";
  sound.play(finished ? "finish" : "fall");
  view.announce(`${finished ? "Finished" : "Fell"} after ${game.metres.toFixed(1)} metres in ${game.seconds.toFixed(1)} seconds`);
  showOver();
}

function showOver() {
  const { game, best, isBest, splits } = over;
  view.state("over");
  showBest();
  showOptions();
  showList();
  const finished = game.outcome === "finished";
  const title = finished ? `Finished in ${game.seconds.toFixed(2)} s` : `Fell after ${game.metres.toFixed(1)} m`;
  const kept = over.discarded ? "Discarded." : isBest ? `Your best so far, kept as game ${game.number}.` : `Kept as game ${game.number}.`;
  const detail = finished ? kept : `${game.seconds.toFixed(2)} s on your feet. ${kept}`;
  const choices = [["Run again (R)", begin, true], ["Watch", () => watch(game)], ["Copy link", () => link(game)]];
  if (!over.discarded) choices.push(["Discard (X)", () => discard(game)]);
  view.card(title, detail, choices, [splits, best]);
}

function discard(game) {
  games.remove(game.number);
  if (choice === game) choice = "pacer";
  const mine = over?.game === game;
  if (mine) over.discarded = true;
  const refresh = () => { if (mine && state() === "over") showOver(); else { showList(); showOptions(); showBest(); } };
  refresh();
  view.toast(`Game ${game.number} is discarded.`, () => {
    games.restore(game);
    if (mine) over.discarded = false;
    refresh();
  });
}

// --- replays ---

function watch(entry) {
  leaveRun();
  list.toggle(false);
  watched = { entry, growing: null };
  if (entry.policy) {
    const game = new Game(module);
    watched.growing = { player: new Player(entry.policy, game), game, played: recorder(game) };
    grow(4);
  } else {
    film.open(rowsOf(entry));
  }
  $("player").hidden = false;
  view.state("watching");
  view.write("split", "");
  view.write("ghost", entry.policy ? `${entry.name}, playing now` : `${titleOf(entry)}: ${figures(entry)}`);
  $("player").querySelector(".play").focus({ preventScroll: true });
}

// Plays a watched policy on for some milliseconds, faster than it is shown.
function grow(budget) {
  const { player, game, played } = watched.growing;
  const until = performance.now() + budget;
  do {
    player.step();
    played.add();
  } while (performance.now() < until && !game.ended && played.frames < LONGEST_POLICY_GAME);
  if (film.rows && played.frames > 1 && watched.opened) film.extend(played.rows());
  else film.open(played.rows());
  watched.opened = true;
  if (game.ended || played.frames >= LONGEST_POLICY_GAME) watched.growing = null;
}

function showFilm(row) {
  view.draw(row, null);
}

function leaveFilm() {
  watched = null;
  drawn = false;
  film.open(null);
  $("player").hidden = true;
  view.write("ghost", "");
  if (over) showOver();
  else ready();
}

function race(entry) {
  const chosen = choice === "best" ? games.best : choice;
  choose(chosen === entry ? "none" : entry);
}

// --- games as links and files ---

function packedOf(entry) {
  entry.packed ??= pack(module, { day: today(), ...entry });
  return entry.packed;
}

const linkOf = (entry) => `${location.href.split("#")[0]}#game=${packedOf(entry)}`;

async function link(entry) {
  try {
    await navigator.clipboard.writeText(linkOf(entry));
    view.toast("The link is copied; it holds the whole game.");
  } catch {
    window.prompt("Copy this link; it holds the whole game:", linkOf(entry));
  }
}

function save(name, text) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

const fileName = ({ name, number, metres, seconds }) => (
  `qwop-${name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}-${number ?? "game"}-${metres.toFixed(1)}m-${seconds.toFixed(2)}s.txt`
);

function file(entry) { save(fileName(entry), writeKeys(entry, packedOf(entry))); }

function openLink() {
  const packed = /^#game=(.+)$/.exec(location.hash)?.[1];
  if (!packed) return false;
  try {
    const game = { ...verify(module, packed), packed };
    guests = [game, ...guests.filter((guest) => guest.packed !== packed)];
    choose(game);
    watch(game);
    return true;
  } catch (error) {
    refuse("This link", error);
    return false;
  }
}

function refuse(what, error) {
  if (!(error instanceof Refused)) throw error;
  view.toast(`${what} is refused: ${error.message}.`);
  view.announce(`${what} is refused: ${error.message}.`);
}

async function openFiles(files) {
  for (const given of files) {
    const name = given.name.replace(/\.[^.]*$/, "").slice(0, 40);
    try {
      const isPolicy = given.name.endsWith(".safetensors");
      const entry = isPolicy
        ? policyEntry(await given.arrayBuffer(), name)
        : { name, ...openKeys(module, await given.text(), name) };
      guests = [entry, ...guests];
      choose(entry);
      view.toast(`${entry.name}: ${isPolicy ? "a policy that runs beside you now" : `${figures(entry)}, beside you now`}.`);
    } catch (error) {
      refuse(given.name, error);
    }
  }
}

function policyEntry(buffer, name, about = null) {
  const policy = new Policy(buffer, name);
  const rate = 30 / policy.framesPerStep;
  return { name, policy, about: about ?? `policy, ${rate.toFixed(rate % 1 ? 1 : 0)} decisions a second` };
}

// --- keys, buttons, files dropped ---

const ACTIONS = {
  restart: () => begin(),
  pause: () => {
    if (list.open) list.toggle(false);
    else if (state() === "watching") leaveFilm();
    else if (state() === "paused") resume();
    else pause();
  },
  ghost: () => {
    if (choice !== "none") hidden = choice;
    choose(choice === "none" ? hidden : "none");
  },
  list: () => {
    pause();
    showList();
    list.toggle(!list.open);
  },
  sound: () => document.querySelector("[data-do=sound]").setAttribute("aria-pressed", String(sound.toggle())),
};

const LETTERS = { r: "restart", g: "ghost", l: "list", m: "sound", escape: "pause" };

window.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || state() === "loading") return;
  const key = event.key.toLowerCase();
  if (isField(event.target) && key !== "escape") return;
  const onButton = event.target.matches?.("button, summary, [type=range]");
  if (LETTERS[key]) {
    event.preventDefault();
    ACTIONS[LETTERS[key]]();
  } else if (key === "x" && state() === "over" && !over.discarded && !list.open) {
    discard(over.game);
  } else if (state() === "watching" && !onButton) {
    film.onKey(event);
  } else if (state() === "ready" && !list.open && (key in BITS || (!onButton && [" ", "enter"].includes(key)))) {
    begin();
  }
});

for (const made of document.querySelectorAll("[data-do]")) {
  made.addEventListener("click", () => { made.blur(); ACTIONS[made.dataset.do](); });
}

for (const cap of view.caps) {
  const name = (event) => `pointer ${event.pointerId}`;
  cap.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    if (state() === "ready") { begin(); return; }
    cap.setPointerCapture?.(event.pointerId);
    keyboard.press(name(event), BITS[cap.dataset.key], event.timeStamp);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    cap.addEventListener(end, (event) => keyboard.release(name(event), event.timeStamp));
  }
  cap.addEventListener("contextmenu", (event) => event.preventDefault());
}

$("leave").addEventListener("click", leaveFilm);
$("race").addEventListener("click", () => {
  choose(watched.entry);
  begin();
});
$("name").value = games.name;
$("name").addEventListener("change", () => { games.name = $("name").value.trim(); $("name").value = games.name; });
$("file").addEventListener("change", () => { openFiles([...$("file").files]); $("file").value = ""; });
$("export").addEventListener("click", () => games.list.forEach(file));

window.addEventListener("blur", pause);
document.addEventListener("visibilitychange", () => { if (document.hidden) pause(); });
window.addEventListener("pagehide", () => {
  if (run?.played && !run.over) games.keepRunning(run.game.keys, run.tempo);
});
window.addEventListener("hashchange", openLink);
window.addEventListener("resize", () => { drawn = false; });
window.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
window.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  openFiles([...event.dataTransfer.files]);
});

// --- start ---

function frame(now) {
  requestAnimationFrame(frame);
  if (countdown) count(now);
  if (watched) {
    if (watched.growing) grow(6);
    film.tick(now);
  } else if (run) {
    drawRun(now);
  } else if (!drawn) {
    view.draw(startRow, null);
    drawn = !countdown;
  }
}

// A game that was under way when the browser ended.
const found = games.takeRunning();
if (found?.keys?.some((pressed) => pressed)) {
  const { rows, ...result } = play(module, found.keys);
  const game = keep({ ...result, tempo: found.tempo }, rows);
  view.toast(`Game ${game.number}, which was under way when the page closed, is kept: ${figures(game)}.`);
}

choice = (games.best?.metres ?? 0) < BEGINNER ? "pacer" : "none";
ready();
view.draw(startRow, null);
performance.mark("first picture");
requestAnimationFrame(frame);

// Those who run beside you come after the first picture.
const [weights, keys] = await Promise.all(["champion.safetensors", "champion_keys.txt"].map((name) => fetch(name)));
builtin = [
  { ...openKeys(module, await keys.text(), ""), name: "the fastest game" },
  policyEntry(await weights.arrayBuffer(), "the champion", "the policy that finishes from every start"),
];
if (choice === "none") choice = builtin[1];
if (!openLink()) choose(choice);
document.body.dataset.loaded = "true";
if (navigator.serviceWorker && location.protocol === "https:") navigator.serviceWorker.register("offline.js");
