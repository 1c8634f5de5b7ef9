// A game as one word, which fits into a link:
//
//   1.100.20783.YWRh.KFA1….d3f3…
//
// A version, the pace in percent, the day, then in Base64 the player's name and the keys, a byte for up to 16 frames with
// the same keys (16 · keys + frames − 1), and last the SHA-256 of all states.

import { Sha256, stateBytes } from "./digest.js";
import { Game } from "./engine.js";
import { Refused } from "./policy.js";
import { flat } from "./rows.js";
import { cut } from "./texts.js";

export const TEMPOS = [1, 0.75, 0.5, 0.25]; // at which a person played
export const LONGEST = 300_000; // frames
const LONGEST_NAME = 40; // bytes
const FORM = /^1\.(100|75|50|25)\.(\d{1,9})\.([\w-]{0,64})\.([\w-]+)\.([\da-f]{64})$/;

// Runs of frames with the same keys: [frames, keys].
export function runsOf(keys) {
  const runs = [];
  for (const pressed of keys) {
    if (runs.length && runs.at(-1)[1] === pressed) runs.at(-1)[0] += 1;
    else runs.push([1, pressed]);
  }
  return runs;
}

// True for the keys of a game.
export const areKeys = (keys) => (
  Array.isArray(keys) && keys.length > 0 && keys.length <= LONGEST && keys.every((one) => Number.isSafeInteger(one) && one >= 0 && one < 16)
);

export const keysOf = (runs) => runs.flatMap(([frames, pressed]) => new Array(frames).fill(pressed));

// game: { keys, name, day, tempo, sha256 }; day: since 1970. Plays it for the digest if there is none.
export function pack(module, { keys, name, day, tempo = 1, sha256 = play(module, keys).sha256 }) {
  const codes = runsOf(keys).flatMap(([frames, pressed]) => Array.from(
    { length: Math.ceil(frames / 16) },
    (_, part) => 16 * pressed + Math.min(frames - 16 * part, 16) - 1,
  ));
  return [
    1, 100 * (TEMPOS.includes(tempo) ? tempo : 1), Number.isSafeInteger(day) && day >= 0 ? day : 0,
    toText(bytesOf(cut(name, LONGEST_NAME, (character) => bytesOf(character).length))), toText(codes), sha256,
  ].join(".");
}

// Plays keys whose states have this digest, as it is said; Refused if they have not.
export function proved(module, keys, sha256) {
  const game = play(module, keys);
  if (game.keys.length < keys.length) throw new Refused(`the game ends at frame ${game.keys.length}, before its keys do`);
  if (game.sha256 !== sha256) throw new Refused("the game does not play as it says: its states have another SHA-256");
  return game;
}

// The claims of a packed game, and its keys; Refused for anything else.
export function unpack(text) {
  const [, percent, day, called, codes, sha256] = FORM.exec(text) ?? [];
  const keys = keysOf(Array.from(fromText(codes ?? "").subarray(0, LONGEST + 1), (code) => [(code % 16) + 1, code >> 4]));
  if (!sha256 || !keys.length || keys.length > LONGEST) throw new Refused("the game is cut off, or not one of this page");
  const name = new TextDecoder().decode(fromText(called).subarray(0, LONGEST_NAME)).trim() || "somebody";
  return { keys, name, day: Number(day), sha256, tempo: Number(percent) / 100 };
}

// Plays a packed game; returns it with its result and the rows of all frames. Refused if it has another digest.
export function verify(module, text) {
  const claims = unpack(text);
  return { ...claims, ...proved(module, claims.keys, claims.sha256) };
}

// Plays keys until they or the game end: { keys, outcome, metres, seconds, rows, sha256 }, the digest of all states.
export function play(module, keys) {
  const game = new Game(module);
  const digest = new Sha256().update(stateBytes(game));
  const rows = [game.row()];
  for (const pressed of keys) {
    if (game.ended) break;
    game.step(pressed);
    rows.push(game.row());
    digest.update(stateBytes(game));
  }
  const outcome = game.ended ? game.outcome : "stopped";
  return { keys: game.keys, outcome, metres: game.metres, seconds: game.seconds, rows: flat(rows), sha256: digest.hex() };
}

const bytesOf = (text) => new TextEncoder().encode(text);

const toText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function fromText(text) {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  } catch {
    throw new Refused("the game is cut off, or not one of this page");
  }
}
