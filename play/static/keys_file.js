// A game's keys as readable text, a line for each stretch of frames, as `qwop.envs.qwop.keys_file` reads and writes it.
// Files of this page have the SHA-256 of all states, too, so that a changed one is refused.

import { keysOf, LONGEST, play, proved, runsOf, TEMPOS } from "./packed.js";
import { Refused } from "./policy.js";
import { cut } from "./texts.js";

const LETTERS = { Q: 1, W: 2, O: 4, P: 8 };
const LONGEST_NAME = 40; // characters
const CLAIM = /^# (player|class|day|pace|sha256):\s*(.*?)\s*$/gm;

// game: its keys, result and SHA-256, and its player, day and tempo.
export function writeKeys(game) {
  const letters = (pressed) => Object.keys(LETTERS).filter((letter) => pressed & LETTERS[letter]).join("") || "-";
  return [
    `# QWOP: ${game.metres.toFixed(1)} m in ${game.seconds.toFixed(2)} s, ${game.outcome}`,
    `# player: ${game.name.replaceAll(/\s/g, " ")}`,
    `# class: ${game.kind ?? "human"}`,
    `# day: ${game.day}`, // since 1970
    `# pace: ${100 * (game.tempo ?? 1)} %`,
    `# sha256: ${game.sha256}`,
    "# Frames (30 a second) and the keys that are down in them; - is none. From the first reset of the page on.",
    ...runsOf(game.keys).map(([frames, pressed]) => `${frames} ${letters(pressed)}`),
    "",
  ].join("\n");
}

export function readKeys(text) {
  const runs = [];
  text.split(/\r\n?|\n/).forEach((line, index) => {
    const said = line.split("#")[0].trim().toUpperCase();
    if (!said) return;
    const found = /^([0-9]{1,7})\s+(-|[QWOP]{1,4})$/.exec(said);
    if (!found) throw new Refused(`line ${index + 1}: expected frames and keys, such as “12 QP”`);
    const pressed = found[2] === "-" ? 0 : [...found[2]].reduce((mask, letter) => mask | LETTERS[letter], 0);
    if (Number(found[1])) runs.push([Number(found[1]), pressed]);
  });
  const frames = runs.reduce((sum, [count]) => sum + count, 0);
  if (!frames || frames > LONGEST) throw new Refused(`${frames} frames of keys; expected 1 to ${LONGEST}`);
  return keysOf(runs);
}

// The game of a file of keys: checked against its SHA-256, if the file has one. proof: true if it has.
export function openKeys(module, text, name) {
  const keys = readKeys(text);
  const claims = Object.fromEntries([...text.matchAll(CLAIM)].map(([, what, value]) => [what, value]));
  const kind = claims.class;
  if (claims.sha256 === undefined) return { ...play(module, keys), name, kind, proof: false };
  const [day, tempo] = [parseInt(claims.day, 10), parseInt(claims.pace, 10) / 100];
  return {
    ...proved(module, keys, claims.sha256), proof: true, kind, name: cut(claims.player ?? "", LONGEST_NAME).trim() || name,
    day: day > 0 && day < 1e9 ? day : 0, tempo: TEMPOS.includes(tempo) ? tempo : 1,
  };
}
