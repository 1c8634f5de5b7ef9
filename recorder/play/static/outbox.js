// Games that the recorder has not confirmed yet. The browser keeps them, so that neither its end nor the recorder's
// loses what was played.

import { openPages, page, random } from "./pages.js";
import { forget, names, read, write } from "./storage.js";

const PLACE = "qwop.unsent.";
const PART = 10_000; // frames in a message

export class Outbox {
  // dataset: the games of another one wait for its recorder.
  constructor(connection, dataset) { Object.assign(this, { connection, dataset, sent: new Map() }); } // frames sent, by game

  // Begins a game; returns its twelve digits.
  begin(player, tempo, file = null, game = random()) {
    this.keep(game, { dataset: this.dataset, begun: Date.now(), page, player, tempo, file, frames: [], sha256: null });
    this.announce(game, { player, tempo, file });
    return game;
  }

  announce(game, { player, tempo, file }) {
    this.sent.set(game, 0);
    this.connection.send({ type: "begin", game, player, tempo, file });
  }

  // Sends the frames that were not sent yet; frames: all so far.
  send(game, frames) {
    for (let at = this.sent.get(game) ?? 0; at < frames.length && this.connection.open; at += PART) {
      const part = frames.slice(at, at + PART);
      this.connection.send({ type: "frames", game, at, frames: part });
      this.sent.set(game, at + part.length);
    }
  }

  keep(game, entry) { return write(PLACE + game, entry); }

  note(game, frames) { return this.keep(game, { ...read(PLACE + game, {}), frames }); }

  // The game is over: sent whole, and kept until it is recorded. Returns false if the browser did not keep it.
  end(game, frames, sha256) {
    const kept = this.keep(game, { ...read(PLACE + game, {}), frames, sha256 });
    this.send(game, frames);
    this.connection.send({ type: "end", game, frames: frames.length, sha256 });
    return kept;
  }

  recorded(game) {
    forget(PLACE + game);
    this.sent.delete(game);
  }

  // All games that are kept, in the order in which they began: [game, entry].
  kept() {
    const found = names(PLACE).map((place) => [place.slice(PLACE.length), read(place, null)]);
    return found.filter(([, entry]) => Array.isArray(entry?.frames)).sort(([, one], [, two]) => one.begun - two.begun);
  }

  // Sends all games again, after a connection was made. close(entry): the digest of a game that a page left unended.
  // running: the game that is being played here. Returns the datasets for which others wait.
  async resend(close, running) {
    const alive = await openPages();
    const waiting = new Set();
    for (const [game, entry] of this.kept()) {
      if (entry.dataset !== this.dataset) {
        waiting.add(entry.dataset);
      } else if (game === running) {
        this.announce(game, entry);
      } else if (entry.page === page || !alive.has(entry.page)) {
        this.announce(game, entry);
        this.end(game, entry.frames, entry.sha256 ?? close(entry));
      }
    }
    return [...waiting];
  }
}
