// Games that wait in the page for their recorder, for tests: what is sent, and what the browser keeps.

const stored = new Map();
globalThis.localStorage = new Proxy(
  { getItem: (name) => stored.get(name) ?? null, setItem: (name, text) => stored.set(name, text), removeItem: (name) => stored.delete(name) },
  { ownKeys: () => [...stored.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) },
);
// The browser takes its time to say which pages are open.
const query = () => new Promise((done) => { setTimeout(() => done({ held: [] }), 20); });
Object.defineProperty(globalThis, "navigator", { value: { locks: { request: async () => {}, query } }, configurable: true });

const { kept, Outbox } = await import("./outbox.js");
const DIGEST = "0".repeat(64);
const close = () => DIGEST;

function opened(games = {}) {
  stored.clear();
  for (const [game, entry] of Object.entries(games)) stored.set(`qwop.unsent.${game}`, JSON.stringify(entry));
  const sent = [];
  const connection = { open: true, send: ({ game, at, frames, sha256 }) => { sent.push([game, at, frames.length, Boolean(sha256)]); return true; } };
  return { outbox: new Outbox(connection, "data"), sent };
}

const names = () => [...stored.keys()].sort();

// A game that begins while the connection is being made.
export async function begunMeanwhile() {
  const { outbox, sent } = opened();
  let running = null;
  const resent = outbox.resend(close, () => running);
  running = outbox.begin("ada", 1, undefined, { frames: [1] });
  await resent;
  const noted = kept().map(([game, { player }]) => [game === running, player]);
  outbox.end(running, { frames: [1, 2] }, DIGEST);
  return { sent: sent.map(([, ...part]) => part), noted };
}

// What is sent of the games kept, and what is kept after the answers, [type, game] of each.
export async function answered(module, games, answers) {
  const { outbox, sent } = opened(games);
  const waiting = await outbox.resend(close, () => null);
  for (const [type, game] of answers) outbox[type](game, "why");
  return { sent, waiting, names: names(), reasons: kept().map(([game, { reason }]) => [game, reason]) };
}
