// The pages that are open in this browser, so that none takes a game that another one is playing.

export const random = () => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// A lock that the browser keeps for as long as this page lives, so that others know.
export const page = `qwop.page.${random()}`;
navigator.locks?.request(page, () => new Promise(() => {}));

export async function openPages() {
  const { held } = await (navigator.locks?.query() ?? { held: [] });
  return new Set(held.map(({ name }) => name));
}
