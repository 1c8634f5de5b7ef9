// Texts that people entered or files hold: cut, and shown in one line.

const LONGEST_SHOWN = 60; // code points of a text within a message
const LOOKED_AT = 4000; // UTF-16 units

// The beginning of a text, of so many of Unicode's code points at most. Halves of characters are left out.
export const cut = (text, most) => (
  Array.from(text.slice(0, 2 * most)).slice(0, most).filter((one) => !/^[\ud800-\udfff]$/.test(one)).join("")
);

// Anything, as a few words of one line.
export function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "nothing";
  const whole = text.slice(0, LOOKED_AT).replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim();
  const kept = cut(whole, LONGEST_SHOWN);
  return kept === whole ? kept : `${kept} …`;
}
