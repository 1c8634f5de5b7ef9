// A game as one word, which fits into a link: what it claims, its keys, and the SHA-256 of all its states. See
// `qwop.envs.qwop.packed_game` for its form.

import { Sha256, stateBytes } from "./digest.js";
import { Game } from "./engine.js";
import { Refused } from "./policy.js";
import { flat } from "./rows.js";
import { cut } from "./texts.js";

export const TEMPOS = [1, 0.75, 0.5, 0.25]; // at which a person played
export const LONGEST = 300_000; // frames
const LONGEST_NAME = 40; // bytes
const FORM = /^1\.(stopped|finished|fell)\.(100|75|50|25)\.(-?\d{1,6})\.(\d{1,9})\.([\w-]{0,64})\.([\w-]+)\.([\da-f]{64})$/;

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

// game: { keys, outcome, metres, name, day, tempo, sha256 }; day: since 1970. Plays it for the digest if there is none.
export function pack(module, { keys, outcome, metres, name, day, tempo = 1, sha256 = prove(module, keys) }) {
  const codes = runsOf(keys).flatMap(([frames, pressed]) => Array.from(
    { length: Math.ceil(frames / 16) },
    (_, part) => 16 * pressed + Math.min(frames - 16 * part, 16) - 1,
  ));
  const called = Array.from(cut(name, LONGEST_NAME));
  while (bytesOf(called.join("")).length > LONGEST_NAME) called.pop();
  return [
    1, outcome, 100 * (TEMPOS.includes(tempo) ? tempo : 1), Math.round(10 * metres),
    Number.isSafeInteger(day) && day >= 0 ? day : 0,
    toText(bytesOf(called.join(""))), toText(codes), sha256,
  ].join(".");
}

// Plays keys; returns the digest of all states.
export function prove(module, keys) {
  const game = new Game(module);
  const digest = new Sha256().update(stateBytes(game));
  for (const pressed of keys) {
    game.step(pressed);
    digest.update(stateBytes(game));
  }
  return digest.hex();
}

// The claims of a packed game, and its keys; Refused for anything else.
export function unpack(text) {
  const [, outcome, percent, tenths, day, called, codes, sha256] = FORM.exec(text) ?? [];
  const keys = keysOf(Array.from(fromText(codes ?? "").subarray(0, LONGEST + 1), (code) => [(code % 16) + 1, code >> 4]));
  if (!sha256 || !keys.length || keys.length > LONGEST) throw new Refused("the game is cut off, or not one of this page");
  const name = new TextDecoder().decode(fromText(called).subarray(0, LONGEST_NAME)).trim() || "somebody";
  return { keys, outcome, metres: Number(tenths) / 10, name, day: Number(day), sha256, tempo: Number(percent) / 100 };
}

// Plays a packed game; returns it with the rows of all frames. Refused if it plays otherwise.
export function verify(module, text) {
  const claim = unpack(text);
  const game = new Game(module);
  const digest = new Sha256().update(stateBytes(game));
  const played = recorder(game);
  claim.keys.forEach((pressed, frame) => {
    if (game.ended) throw new Refused(`the game ends at frame ${frame}, before its keys do`);
    game.step(pressed);
    played.add();
    digest.update(stateBytes(game));
  });
  const outcome = game.ended ? game.outcome : "stopped";
  if (digest.hex() !== claim.sha256) throw new Refused("the game does not play as it says: its states have another SHA-256");
  if (outcome !== claim.outcome || Math.abs(game.metres - claim.metres) > 0.01) {
    const found = `at frame ${claim.keys.length} it is “${outcome}” at ${game.metres.toFixed(1)} m`;
    throw new Refused(`the game says “${claim.outcome}” at ${claim.metres.toFixed(1)} m, but ${found}`);
  }
  return { ...claim, seconds: game.seconds, rows: played.rows() };
}

// Plays keys until they or the game end: { keys, outcome, metres, seconds, rows }.
export function play(module, keys) {
  const game = new Game(module);
  const played = recorder(game);
  for (const pressed of keys) {
    if (game.ended) break;
    game.step(pressed);
    played.add();
  }
  const outcome = game.ended ? game.outcome : "stopped";
  return { keys: game.keys, outcome, metres: game.metres, seconds: game.seconds, rows: played.rows() };
}

// The rows of a game from now on, as one flat array.
export function recorder(game) {
  const kept = [game.row()];
  return {
    add: () => kept.push(game.row()),
    get frames() { return kept.length - 1; },
    rows: () => flat(kept),
  };
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
