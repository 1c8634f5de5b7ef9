// Games that the recorder has not confirmed yet. The browser keeps them, so that neither its end nor the recorder's
// loses what was played. One that the recorder refuses stays, with the reason.

import { areKeys } from "./packed.js";
import { forget, names, openPages, page, random, read, write } from "./storage.js";

const PLACE = "qwop.unsent.";
const PART = 10_000; // frames in a message
const COACHED_PART = 300; // with the decisions of a coached game

// All games that are kept, in the order in which they began: [game, entry]. Entries of another form are left as they are.
export function kept() {
  const found = names(PLACE).map((name) => [name.slice(PLACE.length), read(name, null)]);
  const whole = ([, entry]) => areKeys(entry?.frames) && typeof entry.dataset === "string" && Number.isFinite(entry.begun);
  return found.filter(whole).sort(([, one], [, two]) => one.begun - two.begun);
}

export class Outbox {
  // dataset: the games of another one wait for its recorder.
  constructor(connection, dataset) {
    Object.assign(this, { connection, dataset });
    this.sent = new Map(); // what is said of a game with its frames, and the number of those that were sent, by game
  }

  // Begins a game; returns its twelve digits. place: of a line of a coached game, whose decisions come with its frames.
  begin(player, tempo, place, played) {
    const [game, facts] = [random(), { player, tempo, place }];
    write(PLACE + game, { dataset: this.dataset, begun: Date.now(), page, ...facts, ...played, sha256: null });
    this.announce(game, facts);
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

  note(game, played) { return write(PLACE + game, { ...read(PLACE + game, {}), ...played }); }

  // The game is over: sent whole, and kept until it is recorded. Returns false if the browser did not keep it.
  end(game, played, sha256) {
    const noted = this.note(game, { ...played, sha256 });
    this.send(game, played, sha256);
    return noted;
  }

  recorded(game) {
    forget(PLACE + game);
    this.sent.delete(game);
  }

  refused(game, reason) {
    this.note(game, { reason });
    this.sent.delete(game);
  }

  // Sends all games again, after a connection was made. close(entry): the digest of a game that a page left unended.
  // running(): the game that is being played here. Returns the datasets for which others wait.
  async resend(close, running) {
    const alive = await openPages(); // meanwhile a game may begin or end
    const waiting = new Set();
    for (const [game, entry] of kept().filter(([, { reason }]) => !reason)) {
      if (entry.dataset !== this.dataset) {
        waiting.add(entry.dataset);
      } else if (game === running()) {
        this.announce(game, entry);
      } else if (entry.page === page || !alive.has(entry.page)) {
        this.announce(game, entry);
        this.send(game, entry, entry.sha256 ?? close(entry));
      }
    }
    return [...waiting];
  }
}
