// A game in a few hundred bytes: its keys, what it claims, and four check bits for every frame. As text it fits into a
// link. A game that does not play as it says is refused at the frame where it differs.

import { Sha256, stateBytes } from "./digest.js";
import { Game } from "./engine.js";
import { Refused } from "./policy.js";
import { flat } from "./rows.js";
import { cut } from "./texts.js";

const VERSION = 1;
const OUTCOMES = ["stopped", "finished", "fell"];
export const TEMPOS = [1, 0.75, 0.5, 0.25]; // at which a person played
export const LONGEST = 300_000; // frames
const LONGEST_NAME = 40; // bytes

// Runs of frames with the same keys: [frames, keys].
export function runsOf(keys) {
  const runs = [];
  for (const pressed of keys) {
    if (runs.length && runs.at(-1)[1] === pressed) runs.at(-1)[0] += 1;
    else runs.push([1, pressed]);
  }
  return runs;
}

// True for the keys of a game, or for other numbers of its frames below `end`.
export const areKeys = (keys, end = 16) => (
  Array.isArray(keys) && keys.length > 0 && keys.length <= LONGEST && keys.every((one) => Number.isSafeInteger(one) && one >= 0 && one < end)
);

export const keysOf = (runs) => runs.flatMap(([frames, pressed]) => new Array(frames).fill(pressed));

// The check bits follow from the states of all frames so far, so a change shows from its first frame on.
export class Checks {
  constructor(game) {
    this.words = new Int32Array(game.state.buffer, game.state.byteOffset, 2 * game.state.length);
    this.hash = 0x811c9dc5 | 0;
    this.next();
  }

  // Takes the present state in; returns the four bits of its frame.
  next() {
    let { hash } = this;
    for (const word of this.words) {
      hash = Math.imul(hash ^ word, 0x01000193);
      hash ^= hash >>> 15;
    }
    this.hash = hash;
    return hash >>> 28;
  }
}

class Writer {
  constructor() { this.bytes = []; }

  number(value) {
    for (; value >= 128; value = Math.floor(value / 128)) this.bytes.push(128 | value % 128);
    this.bytes.push(value);
  }
}

class Reader {
  constructor(bytes) { Object.assign(this, { bytes, at: 0 }); }

  byte() {
    if (this.at >= this.bytes.length) throw new Refused("the game is cut off");
    return this.bytes[this.at++];
  }

  number() {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = this.byte();
      value += (byte % 128) * unit;
      if (byte < 128) return value;
      if (unit > 2 ** 28) throw new Refused("the game is damaged");
    }
  }
}

// game: { keys, outcome, metres, name, day, tempo, bits }; day: since 1970. Plays it for the check bits if there are none.
export function pack(module, { keys, outcome, metres, name, day, tempo = 1, bits = prove(module, keys).bits }) {
  const writer = new Writer();
  writer.number(VERSION);
  writer.number(OUTCOMES.indexOf(outcome) + 4 * Math.max(TEMPOS.indexOf(tempo), 0));
  writer.number(keys.length);
  const tenths = Math.round(10 * metres);
  writer.number(tenths < 0 ? -2 * tenths - 1 : 2 * tenths);
  writer.number(Number.isSafeInteger(day) && day >= 0 ? day : 0);
  const text = bytesOf(cut(name, LONGEST_NAME, (character) => bytesOf(character).length));
  writer.number(text.length);
  writer.bytes.push(...text);
  for (const [frames, pressed] of runsOf(keys)) {
    writer.bytes.push(Math.min(frames, 16) - 1 + 16 * pressed);
    if (frames >= 16) writer.number(frames - 16);
  }
  for (let frame = 0; frame < keys.length; frame += 2) writer.bytes.push(bits[frame] + 16 * (bits[frame + 1] ?? 0));
  return toText(writer.bytes);
}

// Plays keys and takes down what proves it: the check bits of every frame, and the digest of all states.
export function prove(module, keys) {
  const game = new Game(module);
  const checks = new Checks(game);
  const digest = new Sha256().update(stateBytes(game));
  const bits = keys.map((pressed) => {
    game.step(pressed);
    digest.update(stateBytes(game));
    return checks.next();
  });
  return { bits, sha256: digest.hex() };
}

// The claims of a packed game, and its keys; Refused for anything else.
export function unpack(text) {
  const reader = new Reader(fromText(text));
  const version = reader.number();
  if (version !== VERSION) throw new Refused(`the game is of version ${version}; this page plays version ${VERSION}`);
  const flags = reader.number();
  const [outcome, tempo] = [OUTCOMES[flags % 4], TEMPOS[Math.floor(flags / 4)]];
  const frames = reader.number();
  const tenths = reader.number();
  const day = reader.number();
  const name = new TextDecoder().decode(Uint8Array.from({ length: Math.min(reader.number(), LONGEST_NAME) }, () => reader.byte()));
  if (!outcome || !tempo || frames < 1 || frames > LONGEST) throw new Refused("the game is damaged");
  const keys = [];
  while (keys.length < frames) {
    const byte = reader.byte();
    const count = byte % 16 === 15 ? 16 + reader.number() : (byte % 16) + 1;
    if (keys.length + count > frames) throw new Refused("the game is damaged");
    for (let number = 0; number < count; number += 1) keys.push(byte >> 4);
  }
  const checks = reader.bytes.subarray(reader.at);
  if (checks.length !== Math.ceil(frames / 2)) throw new Refused("the game is cut off");
  const metres = (tenths % 2 ? -(tenths + 1) / 2 : tenths / 2) / 10;
  return { keys, outcome, metres, name: name.trim() || "somebody", day, tempo, checks };
}

// Plays a packed game; returns it with the rows of all frames. Refused, with the frame, if it plays otherwise.
export function verify(module, text) {
  const claim = unpack(text);
  const game = new Game(module);
  const checks = new Checks(game);
  const played = recorder(game);
  claim.keys.forEach((pressed, frame) => {
    if (game.ended) throw new Refused(`the game ends at frame ${frame}, before its keys do`);
    game.step(pressed);
    played.add();
    const bits = (claim.checks[frame >> 1] >> (4 * (frame % 2))) & 15;
    if (checks.next() !== bits) throw new Refused(`the game does not play as it says: it differs at frame ${frame + 1}`);
  });
  const last = claim.keys.length;
  const outcome = game.ended ? game.outcome : "stopped";
  if (outcome !== claim.outcome) throw new Refused(`the game says “${claim.outcome}”, but at frame ${last} it is “${outcome}”`);
  if (Math.abs(game.metres - claim.metres) > 0.01) {
    throw new Refused(`the game says ${claim.metres.toFixed(1)} m, but at frame ${last} it is at ${game.metres.toFixed(1)} m`);
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
    throw new Refused("the game is not one of this page");
  }
}
