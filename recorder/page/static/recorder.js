// The page's games with a recorder, which keeps them: every frame is sent to it as it is played.

import { Coach } from "./coached.js";
import { Connection } from "./connection.js";
import { $, element, numberOf } from "./elements.js";
import { keepName, keptName, shortName } from "./games.js";
import { dayOf, today } from "./list.js";
import { kept, Outbox } from "./outbox.js";
import { play } from "./packed.js";
import { bestOf, better } from "./splits.js";

const UNNAMED = "me"; // the default of source.player
const NOTE = 500; // ms between two notes of the game under way
const LISTED = 200; // games of each collection in the list: the newest, and the best

function listed(games) {
  const best = bestOf(games);
  return games.filter((game, index) => game === best || index >= games.length - LISTED);
}

// changed(): called when your list has changed.
export async function open(module, view, changed) {
  const settings = JSON.parse(document.querySelector("meta[name=recorder]").content);
  $("options").prepend($("name").closest("label"));
  $("nothing").textContent = "No games yet: each is recorded as you play.";
  const games = new RecordedGames(module, settings, settings.coach ? await Coach.load(settings.coach) : null, view, changed);
  await games.refresh();
  games.connect();
  return games;
}

class RecordedGames {
  // settings: player, folder, dataset and ghost. coach: where a policy is corrected, else null.
  constructor(module, settings, coach, view, changed) {
    Object.assign(this, { module, settings, coach, view, changed, list: [], others: [], best: null, kept: true, running: null, followed: 0, noted: 0 });
    this.into = `recording into ${settings.folder}`;
    this.where = element("span", this.into, { className: "where", title: this.into });
    document.querySelector("footer").append(this.where);
  }

  connect() {
    this.connection = new Connection(
      () => { this.connected(true); this.resend(); },
      (message) => this.receive(message),
      ({ stopped }) => {
        this.connected(false);
        if (stopped) this.view.toast("The recorder has stopped. Games that you play now stay in this browser. Start it again and open the address that it prints.");
      },
    );
    this.outbox = new Outbox(this.connection, this.settings.dataset);
  }

  connected(now) {
    document.body.dataset.recorder = now ? "connected" : "lost";
    this.where.textContent = now ? this.into : "no recorder: games stay in this browser";
  }

  // The runner beside you at first; null leaves the choice to the page.
  get ghost() {
    const { ghost } = this.settings;
    if (ghost === "other") return bestOf(this.others);
    return ghost === "embedded" ? null : ghost;
  }

  // The first words of the page, and a run in which a policy is corrected; none of either where you play alone.
  get welcome() { return this.coach?.welcome; }

  run(...given) { return this.coach?.run(...given); }

  async resend() {
    const close = ({ frames }) => play(this.module, frames).sha256;
    const waiting = await this.outbox.resend(close, () => this.running);
    if (waiting.length) this.view.toast(`Games that were not sent wait here for the recorder of ${waiting.join(", ")}.`);
  }

  // --- the list ---

  // Where it cannot be loaded, the list that was loaded before stays.
  async refresh() {
    try {
      this.show((await (await fetch("games.json")).json()).games);
    } catch (error) {
      console.warn("the list of games cannot be loaded", error);
    }
    const best = bestOf(this.list);
    if (best) await this.load(best).catch(() => {});
    this.best = best?.keys ? best : null;
  }

  show(games) {
    const known = new Map(this.list.map((entry) => [entry.file, entry]));
    const entries = games.reverse().map((game) => known.get(game.name) ?? {
      collection: game.collection, file: game.name, name: game.player, outcome: game.outcome, metres: game.metres,
      seconds: game.seconds, day: dayOf(Date.parse(game.created)),
    });
    const pending = this.list.filter(({ file }) => !file);
    const ids = new Set(pending.map(({ id }) => id));
    const refused = kept().filter(([id, { reason }]) => reason && !ids.has(id)).map(([id, { frames, player, begun, reason }]) => ({
      ...play(this.module, frames), id, name: shortName(String(player)) || UNNAMED, day: dayOf(begun), collection: "own", problem: reason,
    }));
    const own = listed(entries.filter(({ collection }) => collection === "own"));
    for (const entry of own) entry.number = numberOf(entry.file);
    this.list = [...own, ...refused, ...pending];
    this.others = listed(entries.filter(({ collection }) => collection !== "own"));
  }

  // Fetches what playing an entry back takes.
  async load(entry) {
    if (entry?.file) entry.keys ??= (await (await fetch(`games/${entry.collection}/${entry.file}`)).json()).keys;
  }

  // --- the game under way ---

  follow(run, now) {
    const played = { frames: run.game.keys, decisions: run.decisions };
    if (!this.running) this.running = this.outbox.begin(this.name, run.tempo, run.place, played);
    else if (run.game.keys.length === this.followed && now !== Infinity) return;
    this.followed = played.frames.length;
    this.outbox.send(this.running, played);
    if (now - this.noted < NOTE) return;
    this.noted = performance.now();
    this.outbox.note(this.running, played);
  }

  add(result, rows) {
    const played = { frames: result.keys, decisions: result.decisions };
    const id = this.running ?? this.outbox.begin(this.name, result.tempo, result.place, played);
    this.running = null;
    const entry = { ...result, id, rows, name: this.name, day: today(), collection: "own" };
    this.list = [...this.list, entry];
    if (!this.best || better(entry, this.best)) this.best = entry;
    this.kept = this.outbox.end(id, played, result.sha256) || this.connection.open;
    return entry;
  }

  close(run) { this.follow(run, Infinity); }

  takeRunning() { return []; } // what was under way is sent with the next connection

  said(game, isBest) {
    if (game.problem) return `Not in the dataset: ${game.problem}.`;
    if (!game.file) return this.connection.open ? "Being recorded …" : "Kept in this browser until the recorder is back.";
    return isBest ? `Your best so far, recorded as game ${game.number}.` : `Recorded as game ${game.number}.`;
  }

  // --- the recorder ---

  async receive({ type, game, name, reason }) {
    const entry = this.list.find(({ id, file }) => (game ? id === game : file === name)) ?? {};
    if (type === "refused") {
      this.outbox.refused(game, reason);
      entry.problem = reason;
      this.view.toast(`The recorder refuses a game (${reason}). It stays in this browser and in the list; save it as a file.`);
    } else if (type === "recorded") {
      this.outbox.recorded(game);
      Object.assign(entry, { file: name, number: numberOf(name) });
    } else if (type === "discarded") {
      this.list = this.list.filter((one) => one !== entry);
    } else {
      this.view.toast(`It stays in the dataset: ${reason}.`);
    }
    await this.refresh();
    this.changed();
  }

  remove(entry) {
    if (!entry.file) return false;
    if (!this.connection.send({ type: "discard", name: entry.file })) return false;
    this.list = this.list.filter((game) => game !== entry);
    this.best = bestOf(this.list.filter(({ keys }) => keys));
    return true;
  }

  // A game that was discarded is recorded anew; a coached one that this page has not played stays in the folder aside.
  restore(entry) {
    if (this.coach && !entry.decisions) {
      this.view.toast("It stays discarded: it lies in the folder aside of the dataset.");
      return;
    }
    const played = { frames: entry.keys, decisions: entry.decisions };
    entry.id = this.outbox.begin(entry.name, entry.tempo ?? 1, entry.place, played);
    delete entry.file;
    this.list = [...this.list, entry];
    this.outbox.end(entry.id, played, play(this.module, entry.keys).sha256);
  }

  // A name that the command gives counts; else the one that was entered last.
  get name() { return this.entered ?? (this.settings.player === UNNAMED ? keptName(UNNAMED) : this.settings.player); }

  set name(name) {
    this.entered = shortName(name) || this.settings.player;
    if (this.settings.player === UNNAMED) keepName(this.entered);
  }
}
