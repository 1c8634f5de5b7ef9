// Values that this browser keeps for the page, by name, and its open pages. A value that it refuses (private browsing, or
// full) lives as long as the page.

const refused = new Map();
let storage = null; // where it is forbidden
try {
  storage = localStorage;
} catch { /* all is refused */ }

export function read(name, otherwise) {
  try {
    return JSON.parse(refused.get(name) ?? storage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

// Returns false if the browser does not keep it.
export function write(name, value) {
  const text = JSON.stringify(value);
  refused.delete(name);
  try {
    storage.setItem(name, text);
  } catch {
    refused.set(name, text);
  }
  return !refused.has(name);
}

export function forget(name) {
  refused.delete(name);
  storage?.removeItem(name);
}

// The names that begin so.
export const names = (beginning) => (
  [...new Set([...Object.keys(storage ?? {}), ...refused.keys()])].filter((name) => name.startsWith(beginning))
);

export const random = () => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// A lock that the browser keeps for as long as this page lives, so that no other takes a game that it is playing.
export const page = `qwop.page.${random()}`;
navigator.locks?.request(page, () => new Promise(() => {})).catch(() => {}); // where storage is forbidden, so are locks

// None where the browser does not tell.
export async function openPages() {
  const locks = await navigator.locks?.query().catch(() => null);
  return new Set(locks?.held.map(({ name }) => name));
}
