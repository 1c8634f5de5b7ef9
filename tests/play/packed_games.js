// Functions of the page's scripts, for tests.

import { Board } from "./board.js";
import { ROW } from "./engine.js";
import { pacer, Recorded } from "./ghosts.js";
import { openKeys, writeKeys } from "./keys_file.js";
import { dateOf, dayOf, today } from "./list.js";
import { pack, play, unpack, verify } from "./packed.js";
import { Policy, Refused } from "./policy.js";
import { bestOf, splitsOf } from "./splits.js";
import { zip } from "./zip.js";

const without = ({ rows, proof, ...rest }) => rest;

// The days of times, each with the truth that it is shown; today at a time; and how a day is shown.
export const days = (module, times, time, day) => {
  const now = Date.now;
  Date.now = () => time;
  try {
    return { of: times.map((one) => [dayOf(one), dateOf(dayOf(one)) !== ""]), today: today(), shown: dateOf(day) };
  } finally {
    Date.now = now;
  }
};

export const zipped = async (module, files) => Array.from(new Uint8Array(await zip(files).arrayBuffer()));

export const unpacked = (module, text) => unpack(text);

// The result of opening each text: the game, or the reason why it is refused.
const said = (open) => (text) => {
  try {
    return without(open(text));
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
};

export const verified = (module, texts) => texts.map(said((text) => verify(module, text)));

export const filesOpened = (module, texts) => texts.map(said((text) => openKeys(module, text, "a file")));

export function fileOf(module, game) {
  return writeKeys({ ...play(module, game.keys), ...game });
}

export const policiesRefused = (module, files) => files.map(said((file) => {
  const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0));
  return { rows: null, name: new Policy(bytes.buffer).name };
}));

// The page's results for the files of a board, [name, text] each.
export const boardRuns = (module, files) => files.map(([name, text]) => {
  const { keys, refused, rows, packed: _, ...run } = new Board(module).open(name, text);
  return refused ? { name: run.name, refused } : { ...run, frames: keys.length };
});

export const best = (module, games) => bestOf(games);

export const splits = (module, keys) => {
  const { rows, outcome } = play(module, keys);
  return splitsOf(rows, outcome);
};

// The clock of a ghost, seconds after your first key: of a game's own pace, and of half of it.
export const ghostClocks = (module, keys, seconds) => {
  const { rows } = play(module, keys);
  return [1, 0.5].map((tempo) => new Recorded("", rows, tempo).at(0, seconds)[ROW - 2]);
};

export const paces = (module, record, bests) => bests.map((best) => pacer({ rows: new Float32Array(2 * ROW), ...record }, best).tempo);

// The numbers of the games that the browser keeps, of as many as it may: after another was played, and after the sixth
// was removed and had back.
export const numbersKept = async (module, packed, metres, result) => {
  const kept = metres.map((far, index) => ({ number: index + 1, packed, outcome: "fell", metres: far, seconds: 1 }));
  stored.set("qwop.games", JSON.stringify(kept));
  globalThis.navigator ??= {};
  const { Games } = await import("./games.js");
  const numbers = () => JSON.parse(stored.get("qwop.games")).map(({ number }) => number);
  const games = new Games(module);
  games.add(result, null);
  const added = numbers();
  const sixth = games.list[5];
  games.remove(sixth);
  const removed = numbers();
  games.restore(sixth);
  return { added, removed, restored: numbers() };
};

const stored = new Map();
globalThis.localStorage ??= new Proxy(
  { getItem: (name) => stored.get(name) ?? null, setItem: (name, text) => stored.set(name, text), removeItem: (name) => stored.delete(name) },
  { ownKeys: () => [...stored.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) },
);

// The page's games where the browser keeps these texts: what is found, and what is kept after another game.
export const startedWith = async (module, kept, result) => {
  stored.clear();
  Object.entries(kept).forEach(([name, text]) => stored.set(name, text));
  globalThis.navigator ??= {};
  const { Games } = await import("./games.js");
  const games = new Games(module);
  const running = await games.takeRunning();
  const found = { numbers: games.list.map(({ number }) => number), name: games.name, running, left: [...stored.keys()].filter((name) => name.includes("running")) };
  games.add(result, null);
  return { ...found, after: JSON.parse(stored.get("qwop.games")) };
};

// Each name as the page keeps it, and as a link has it.
export const namesCut = async (module, names) => {
  globalThis.navigator ??= {};
  const { shortName } = await import("./games.js");
  return names.map((name) => [shortName(name), unpack(pack(module, { keys: [0, 1, 5], name, day: 1 })).name]);
};
