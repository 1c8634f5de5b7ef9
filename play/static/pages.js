// The pages that are open in this browser, so that none takes a game that another one is playing.

export const random = () => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// A lock that the browser keeps for as long as this page lives, so that others know.
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
