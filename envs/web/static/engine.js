// The game itself, exact to the bit: the engine's own code as WebAssembly, as `qwop.envs.web.engine_module` gives it.

export const FRAMES_A_SECOND = 30;
export const BODIES = 14;
export const STATE = 6 * BODIES; // x, y, angle, vx, vy, angular velocity of every body
export const OBSERVATIONS = { features: [0, 71], full: [1, 94], contact: [2, 112] }; // kinds: the kernels' number, the size

const [SCORE, JUMPED, LANDED, ENDED] = [STATE, STATE + 2, STATE + 3, STATE + 4];
const PAGES = 2; // of 64 kB, for all arrays
const FINISH_SCORE = 100;
export const POSE = 3 * BODIES; // numbers of a pose, and of a row, as `qwop.envs.pictures.player` has them
export const ROW = POSE + 3;

export async function loadEngine(address = new URL("engine.wasm", import.meta.url)) {
  return WebAssembly.compile(await (await fetch(address)).arrayBuffer());
}

// A page of the game, on which games are played one after the other. A page that has just been loaded begins its first
// game by one reset, as `replay` does by default.
export class Game {
  // module: what `loadEngine` gave.
  constructor(module) {
    const [section] = WebAssembly.Module.customSections(module, "layout");
    const layout = JSON.parse(new TextDecoder().decode(section));
    const { memory, __heap_base, ...kernels } = new WebAssembly.Instance(module).exports;
    memory.grow(PAGES);
    let end = __heap_base.value;
    const array = (Kind, size) => {
      const begin = 16 * Math.ceil(end / 16);
      end = begin + size * Kind.BYTES_PER_ELEMENT;
      return new Kind(memory.buffer, begin, size);
    };
    // A call of a kernel, whose argument is a table of 64-bit words: addresses of arrays with their dimensions, numbers.
    const call = (name, ...given) => {
      const words = given.flat().map((word) => (typeof word === "bigint" ? word : BigInt(word.byteOffset ?? word)));
      const table = array(BigInt64Array, words.length);
      table.set(words);
      return () => kernels[name](table.byteOffset);
    };
    this.reals = array(Float64Array, layout.reals);
    this.integers = array(Int32Array, layout.integers);
    this.state = this.reals.subarray(0, STATE);
    this.pressed = array(Uint8Array, 1);
    this.observation = array(Float32Array, OBSERVATIONS.contact[1]);
    this.places = layout.hidden;
    this.hidden = array(Float64Array, this.places.length);
    const [scratch, work] = [array(Float64Array, layout.memory), array(BigInt64Array, layout.work.length)];
    work.set(layout.work.map(BigInt));
    const page = [[this.reals, layout.reals], [this.integers, layout.integers]];
    const games = page.map(([rows, size]) => [rows, 1, size]);
    const space = [[scratch, layout.memory], [work, layout.rows, layout.work.length / layout.rows]];
    this.kernels = {
      load: call("load_page_current_1", ...page),
      reset: call("reset_page_current_1", ...page),
      frame: call("play_frame_current_1", ...games, [this.pressed, 1], ...space),
    };
    const jumped = this.reals.subarray(JUMPED);
    this.observers = {};
    for (const [kind, [number, size]] of Object.entries(OBSERVATIONS)) {
      const bits = new BigInt64Array(new Float64Array([number]).buffer);
      const rows = [[this.state, 1, STATE], [jumped, 1], [this.hidden, 1, this.hidden.length], [this.observation, 1, size]];
      const start = call("observe_start", bits[0], [scratch, layout.memory], [this.observation, size]);
      this.observers[kind] = { now: call("observe_all", bits[0], ...rows), start };
    }
    this.load();
  }

  // A page that has just been loaded.
  load() {
    this.kernels.load();
    this.begin();
  }

  // A new game on the same page. resets: how many in a row, each with its frame; held: keys down in the last one's.
  begin(resets = 1, held = 0) {
    for (let number = 1; number <= resets; number += 1) {
      this.kernels.reset();
      this.#frame(number === resets ? held : 0);
    }
    this.keys = [];
    this.first = null; // frame of the first key
  }

  // Plays a frame with these keys down (Q = 1, W = 2, O = 4, P = 8) unless the game has ended; returns true if it has.
  step(keys) {
    if (!this.ended) {
      this.#frame(keys);
      this.keys.push(keys);
      if (keys && this.first === null) this.first = this.keys.length - 1;
    }
    return this.ended;
  }

  #frame(keys) {
    this.pressed[0] = keys;
    this.kernels.frame();
  }

  get ended() { return this.reals[ENDED] !== 0; }

  get metres() { return this.reals[SCORE]; }

  get outcome() {
    if (!this.ended) return "running";
    return this.reals[LANDED] !== 0 && this.metres >= FINISH_SCORE ? "finished" : "fell";
  }

  // Seconds since the first key.
  get seconds() { return this.first === null ? 0 : (this.keys.length - this.first) / FRAMES_A_SECOND; }

  // What a policy sees: one of OBSERVATIONS. The array is overwritten by the next call.
  observe(kind) {
    this.places.forEach((place, column) => { this.hidden[column] = this.reals[place]; });
    this.observers[kind].now();
    return this.observation.subarray(0, OBSERVATIONS[kind][1]);
  }

  // What a policy that lags by a frame sees first.
  observeStart(kind) {
    this.observers[kind].start();
    return this.observation.subarray(0, OBSERVATIONS[kind][1]);
  }

  // The numbers from which a frame is drawn: float32 [ROW].
  row() {
    const row = new Float32Array(ROW);
    for (let body = 0; body < BODIES; body += 1) {
      for (let column = 0; column < 3; column += 1) row[3 * body + column] = this.state[6 * body + column];
    }
    row[POSE] = this.metres;
    row[POSE + 1] = this.seconds;
    row[POSE + 2] = this.keys.at(-1) ?? 0;
    return row;
  }

  save() {
    return { reals: this.reals.slice(), integers: this.integers.slice(), keys: this.keys.slice(), first: this.first };
  }

  restore({ reals, integers, keys, first }) {
    this.reals.set(reals);
    this.integers.set(integers);
    this.keys = keys.slice();
    this.first = first;
  }
}
