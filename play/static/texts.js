// Texts that people entered or files hold: cut between characters, and shown in one line.

const LONGEST_SHOWN = 60; // characters of a text within a message
const LARGEST = 64; // UTF-16 units of a character, an emoji of many parts; what is longer need not be looked at

const segmenter = globalThis.Intl?.Segmenter ? new Intl.Segmenter() : null;

// The characters of a text, an emoji of several parts being one. Halves of characters are left out.
function charactersOf(text) {
  const whole = Array.from(text).filter((one) => !/^[\ud800-\udfff]$/.test(one)).join("");
  return segmenter ? Array.from(segmenter.segment(whole), ({ segment }) => segment) : Array.from(whole);
}

// The beginning of a text of this size at most, which counts Unicode's code points unless `size` measures otherwise.
export function cut(text, most, size = (character) => Array.from(character).length) {
  let kept = "";
  let used = 0;
  for (const character of charactersOf(text.slice(0, most * LARGEST))) {
    used += size(character);
    if (used > most) break;
    kept += character;
  }
  return kept;
}

// Anything, as a few words of one line.
export function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "nothing";
  const whole = text.slice(0, LONGEST_SHOWN * LARGEST).replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim();
  const kept = cut(whole, LONGEST_SHOWN);
  return kept === whole ? kept : `${kept} …`;
}
