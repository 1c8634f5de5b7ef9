// Games that the recorder has not confirmed yet. The browser keeps them, so that neither its end nor the recorder's
// loses what was played. One that the recorder refuses is set apart, and kept as well.

import { areKeys } from "./packed.js";
import { openPages, page, random } from "./pages.js";
import { forget, names, read, write } from "./storage.js";

const PLACE = "qwop.unsent.";
const APART = "qwop.apart.";
const PART = 10_000; // frames in a message
const COACHED_PART = 300; // with the decisions of a coached game

const entries = (place) => names(place).map((name) => [name.slice(place.length), read(name, null)]);
const frameless = (entry) => Array.isArray(entry?.frames) && entry.frames.length === 0;

// The games that were set apart, and why: [game, entry]. Entries of another form are left as they are.
export const apart = () => entries(APART).filter(([, entry]) => areKeys(entry?.frames));

export class Outbox {
  // dataset: the games of another one wait for its recorder.
  constructor(connection, dataset) {
    Object.assign(this, { connection, dataset });
    this.sent = new Map(); // what is said of a game with its frames, and the number of those that were sent, by game
    this.queue = []; // games to send again, one at a time, as [game, its digest]
    this.current = null; // the one that was sent and not answered
    this.refusals = new Map(); // why the game under way was refused, which is set apart once it is over
  }

  // Begins a game; returns its twelve digits. place: of a line of a coached game, whose decisions come with its frames.
  begin(player, tempo, place = undefined) {
    const game = random();
    const begun = Math.max(Date.now(), ...this.kept().map(([, entry]) => entry.begun + 1)); // also after a clock is set back
    this.keep(game, { dataset: this.dataset, begun, page, player, tempo, place, frames: [], sha256: null });
    this.announce(game, { player, tempo, place });
    return game;
  }

  // From now on it is sent, from its first frame on.
  announce(game, { player, tempo, place }) { this.sent.set(game, { facts: { player, tempo, place }, at: 0 }); }

  // Sends what was not sent yet of a game that was announced; frames, decisions: all so far. sha256: of its states, once it
  // is over.
  send(game, { frames, decisions }, sha256 = null) {
    const sent = this.sent.get(game);
    const size = decisions ? COACHED_PART : PART;
    for (let more = sent && (sha256 || sent.at < frames.length); more && this.connection.open;) {
      const { facts, at } = sent;
      const part = frames.slice(at, at + size);
      sent.at += part.length;
      more = sent.at < frames.length;
      const among = decisions?.filter(([frame]) => frame >= at && frame < sent.at);
      this.connection.send({ type: "frames", game, ...facts, at, frames: part, decisions: among, sha256: more ? null : sha256 });
    }
  }

  keep(game, entry) { return write(PLACE + game, entry); }

  note(game, played) { return this.keep(game, { ...read(PLACE + game, {}), ...played }); }

  // The game is over: sent whole, and kept until it is recorded. Returns false if the browser did not keep it.
  end(game, played, sha256) {
    const kept = this.note(game, { ...played, sha256 });
    if (this.refusals.has(game)) return this.setApart(game, this.refusals.get(game));
    if (this.sent.has(game)) this.send(game, played, sha256);
    else this.queue.push([game, sha256]);
    if (!this.current) this.next();
    return kept;
  }

  // The recorder has the game, or it is set apart.
  answered(game) {
    forget(PLACE + game);
    this.sent.delete(game);
    if (game === this.current) this.next();
  }

  // The recorder refuses a game. running: the one that is being played here.
  refuse(game, reason, running) {
    if (game === running) {
      this.sent.delete(game);
      this.refusals.set(game, reason);
    } else {
      this.setApart(game, reason);
    }
  }

  setApart(game, reason) {
    const kept = { ...read(PLACE + game, {}), reason };
    forget(PLACE + game); // first, as there may be no room for both
    const written = write(APART + game, kept);
    this.answered(game);
    return written;
  }

  // All games that are kept, in the order in which they began: [game, entry]. Entries of another form are left as they are.
  kept() {
    const whole = ({ dataset, begun }) => typeof dataset === "string" && Number.isFinite(begun);
    const found = entries(PLACE).filter(([, entry]) => (areKeys(entry?.frames) || frameless(entry)) && whole(entry));
    return found.sort(([, one], [, two]) => one.begun - two.begun);
  }

  // Sends all games again, after a connection was made. close(entry): the digest of a game that a page left unended.
  // running(): the game that is being played here. Returns the datasets for which others wait.
  async resend(close, running) {
    const alive = await openPages(); // meanwhile a game may begin or end
    const waiting = new Set();
    Object.assign(this, { queue: [], current: null });
    for (const [game, entry] of this.kept()) {
      if (entry.dataset !== this.dataset) {
        waiting.add(entry.dataset);
      } else if (game === running()) {
        if (this.refusals.has(game)) this.sent.delete(game);
        else this.announce(game, entry);
      } else if (entry.page === page || !alive.has(entry.page)) {
        if (frameless(entry)) forget(PLACE + game); // its page ended before the first frame
        else this.queue.push([game, entry.sha256 ?? close(entry)]);
      }
    }
    this.next();
    return [...waiting];
  }

  // Sends the next game, unless none waits.
  next() {
    const [game, sha256] = this.queue.shift() ?? [null];
    this.current = game;
    if (game === null) return;
    const entry = read(PLACE + game, null);
    if (!areKeys(entry?.frames)) return this.next(); // another page has sent it
    this.announce(game, entry);
    this.send(game, entry, sha256);
  }
}
