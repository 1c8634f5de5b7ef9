// The functions of packed.js and keys_file.js, for tests.

import { Board } from "./board.js";
import { openKeys, readKeys, writeKeys } from "./keys_file.js";
import { dateOf, today } from "./list.js";
import { pack, play, prove, runsOf, unpack, verify } from "./packed.js";
import { Policy, Refused } from "./policy.js";

const without = ({ rows, checks, ...rest }) => rest;

export const shownDay = (module, day) => dateOf(day);

export const dayAt = (module, time) => {
  const now = Date.now;
  Date.now = () => time;
  try {
    return today();
  } finally {
    Date.now = now;
  }
};

export const packed = (module, game) => pack(module, game);

export const unpacked = (module, text) => without(unpack(text));

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
  const played = { ...play(module, game.keys), ...game };
  return writeKeys(played, pack(module, played));
}

export const policiesRefused = (module, files) => files.map(said((file) => {
  const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0));
  return { rows: null, name: new Policy(bytes.buffer).name };
}));

export const keysRead = (module, text) => readKeys(text);

// A packed game whose keys were changed, frame by frame, while everything else stayed as it was: what each says.
export function forgeries(module, game, changes) {
  const text = pack(module, game);
  const { checks } = unpack(text);
  return changes.map(([frame, pressed]) => {
    const keys = game.keys.slice();
    keys[frame - 1] = pressed;
    const other = pack(module, { ...game, keys });
    const bytes = Uint8Array.from(atob(other.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    bytes.set(checks, bytes.length - checks.length);
    return said((forged) => verify(module, forged))(btoa(String.fromCharCode(...bytes)));
  });
}

export const runs = (module, keys) => runsOf(keys);

// The page's results for the files of a board, [name, text] each.
export const boardRuns = (module, files) => files.map(([name, text]) => {
  const { keys, refused, rows, checks, packed: _, ...run } = new Board(module).open(name, text);
  return refused ? { name: run.name, refused } : { ...run, frames: keys.length, sha256: prove(module, keys).sha256 };
});
