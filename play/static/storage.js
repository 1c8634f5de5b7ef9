// Values that this browser keeps for the page, by name, and its open pages. A value that it refuses (private browsing, or
// full) lives as long as the page.

const refused = new Map();

export function read(name, otherwise) {
  try {
    return JSON.parse(refused.get(name) ?? localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

// Returns false if the browser does not keep it.
export function write(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(name, text);
    refused.delete(name);
    return true;
  } catch {
    refused.set(name, text);
    return false;
  }
}

export function forget(name) {
  refused.delete(name);
  try {
    localStorage.removeItem(name);
  } catch { /* nothing is kept */ }
}

// The names that begin so.
export function names(beginning) {
  let kept = [];
  try {
    kept = Object.keys(localStorage);
  } catch { /* nothing is kept */ }
  return [...new Set([...kept, ...refused.keys()])].filter((name) => name.startsWith(beginning));
}

export const random = () => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// A lock that the browser keeps for as long as this page lives, so that no other takes a game that it is playing.
export const page = `qwop.page.${random()}`;
navigator.locks?.request(page, () => new Promise(() => {})).catch(() => {}); // where storage is forbidden, so are locks

// None where the browser does not tell.
export async function openPages() {
  try {
    const { held } = await navigator.locks.query();
    return new Set(held.map(({ name }) => name));
  } catch {
    return new Set();
  }
}
