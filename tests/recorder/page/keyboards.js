// The page's keyboard without a browser, for tests.

const heard = {};
globalThis.window = { addEventListener: (kind, act) => (heard[kind] ??= []).push(act) };
const { Keyboard } = await import("./keyboard.js");

// The keys held after each event, as bits; with frames, [start, end, events after it was played …] in ms, those of each.
// names: of the keys, null for the game's. An event is [kind, key, code, more].
export function held(module, names, events, frames) {
  for (const kind of Object.keys(heard)) delete heard[kind];
  const bits = names && Object.fromEntries(names.map((name, index) => [name, 1 << index]));
  const keyboard = names ? new Keyboard(window, bits) : new Keyboard(window);
  const happen = ([kind, key, code, more]) => {
    heard[kind].forEach((act) => act({ key, code, timeStamp: 1, preventDefault() {}, ...more }));
    return keyboard.mask;
  };
  const masks = events.map(happen);
  return frames ? frames.map(([from, to, ...late]) => {
    const pressed = keyboard.during(from, to);
    late.forEach(happen);
    return pressed;
  }) : masks;
}

export const all = (module, names, cases) => cases.map((events) => held(module, names, events));
