// A game's keys as readable text, a line for each stretch of frames, as `qwop.envs.qwop.keys_file` reads and writes it.
// Files of this page hold the packed game in a comment, too, so that a changed one is refused.

import { keysOf, play, runsOf, unpack, verify } from "./packed.js";
import { Refused } from "./policy.js";

const LETTERS = { Q: 1, W: 2, O: 4, P: 8 };
const LONGEST = 300_000; // frames
const PACKED = /^# game:(.*)$/m;
const KIND = /^# class:(.+)$/m;

export function writeKeys(game, packed) {
  const letters = (pressed) => Object.keys(LETTERS).filter((letter) => pressed & LETTERS[letter]).join("") || "-";
  const result = `${game.metres.toFixed(1)} m in ${game.seconds.toFixed(2)} s, ${game.outcome}`;
  return [
    `# QWOP: ${result}; ${game.name.replaceAll(/\s/g, " ")}`,
    `# class: ${game.kind ?? "human"}`,
    "# Frames (30 a second) and the keys that are down in them; - is none. From the first reset of the page on.",
    `# game: ${packed}`,
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

// The game of a file of keys: checked against its packed form, if the file has one.
export function openKeys(module, text, name) {
  const keys = readKeys(text);
  const packed = PACKED.exec(text)?.[1].trim();
  const kind = KIND.exec(text)?.[1].trim();
  if (packed === undefined) return { ...play(module, keys), name, kind };
  if (unpack(packed).keys.join() !== keys.join()) throw new Refused("its keys were changed: they are not those of its line “# game: …”");
  return { ...verify(module, packed), packed, kind };
}
