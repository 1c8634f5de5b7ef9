// The board: runs as files of keys. Each is played here before it is listed; one that plays otherwise is refused.

import { openKeys } from "./keys_file.js";
import { Refused } from "./policy.js";
import { better } from "./splits.js";

const KINDS = ["human", "policy", "search", "human with corrections"]; // classes of runs

export class Board {
  constructor(module) { Object.assign(this, { module, runs: [], loading: null }); }

  // Plays all runs, once. shown(): called after each.
  load(shown) {
    this.loading ??= this.play(shown).catch(() => { this.loading = null; }); // without a connection: the next time
    return this.loading;
  }

  async play(shown) {
    const files = await (await fetch("board.json")).json();
    this.runs = [];
    for (const file of files) {
      const run = this.open(file, await (await fetch(`board/${encodeURIComponent(file)}`)).text());
      const place = this.runs.findIndex((other) => other.refused || (!run.refused && better(run, other)));
      this.runs.splice(place < 0 || run.refused ? this.runs.length : place, 0, run);
      shown();
      await new Promise((done) => { setTimeout(done); }); // a picture may be due
    }
  }

  open(file, text) {
    const name = file.replace(/\.txt$/, "");
    try {
      const run = openKeys(this.module, text, name);
      if (!run.proof) throw new Refused("no line “# sha256: …” of its states; open it on this page and save it");
      if (!KINDS.includes(run.kind)) throw new Refused(`its class is ${String(run.kind).slice(0, 40)}, expected one of ${KINDS.join(", ")}`);
      return { board: true, ...run };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { board: true, name, refused: error.message };
    }
  }
}
