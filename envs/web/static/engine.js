// The game itself, exact to the bit: the engine's own code as WebAssembly, made by `qwop.envs.engine.build`.

export const FRAMES_A_SECOND = 30;
export const BODIES = 14;
export const STATE = 6 * BODIES; // x, y, angle, vx, vy, angular velocity of every body
export const OBSERVATIONS = { features: [0, 71], full: [1, 94], contact: [2, 112] }; // kinds: the kernels' number, the size

const [SCORE, LANDED, ENDED] = [STATE, STATE + 3, STATE + 4];
const FINISH_SCORE = 100;
export const POSE = 3 * BODIES; // numbers of a pose, and of a row, as `qwop.envs.pictures.frame_rows` has them
export const ROW = POSE + 3;

export async function loadEngine(address = new URL("engine.wasm", import.meta.url)) {
  return WebAssembly.compile(await (await fetch(address)).arrayBuffer());
}

// A page of the game, on which games are played one after the other. A page that has just been loaded begins its first
// game by one reset, as `replay` does by default.
export class Game {
  // module: what `loadEngine` gave.
  constructor(module) {
    this.engine = new WebAssembly.Instance(module).exports;
    const { memory } = this.engine;
    const place = (name) => this.engine[name].value;
    const size = (name) => new Uint32Array(memory.buffer, place(`${name}_size`), 1)[0];
    const view = (Kind, name) => new Kind(memory.buffer, place(name), size(name));
    this.reals = view(Float64Array, "reals");
    this.integers = view(Int32Array, "integers");
    this.observation = view(Float32Array, "observation");
    this.state = this.reals.subarray(0, STATE);
    this.load();
  }

  // A page that has just been loaded.
  load() {
    this.engine.load();
    this.begin();
  }

  // A new game on the same page. resets: how many in a row, each with its frame; held: keys down in the last one's.
  begin(resets = 1, held = 0) {
    for (let number = 1; number <= resets; number += 1) {
      this.engine.reset();
      this.engine.frame(number === resets ? held : 0);
    }
    this.keys = [];
    this.first = null; // frame of the first key
  }

  // Plays a frame with these keys down (Q = 1, W = 2, O = 4, P = 8) unless the game has ended; returns true if it has.
  step(keys) {
    if (!this.ended) {
      this.engine.frame(keys);
      this.keys.push(keys);
      if (keys && this.first === null) this.first = this.keys.length - 1;
    }
    return this.ended;
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
    const [number, size] = OBSERVATIONS[kind];
    this.engine.observe(number);
    return this.observation.subarray(0, size);
  }

  // What a policy that lags by a frame sees first.
  observeStart(kind) {
    const [number, size] = OBSERVATIONS[kind];
    this.engine.observe_start(number);
    return this.observation.subarray(0, size);
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
