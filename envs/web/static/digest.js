// SHA-256 over the states of a game: the same 64 digits wherever it is played exactly. (Browsers have SHA-256 only for
// whole messages, and only on https.)

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime)) found.push(n);
  return found;
};
const fraction = (number) => Math.floor((number - Math.floor(number)) * 2 ** 32) | 0;
const K = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));

export class Sha256 {
  constructor() {
    this.hash = START.slice();
    this.block = new Uint8Array(64);
    this.view = new DataView(this.block.buffer);
    this.words = new Int32Array(64);
    this.length = 0;
  }

  update(bytes) {
    for (let from = 0; from < bytes.length;) {
      const filled = this.length % 64;
      const count = Math.min(64 - filled, bytes.length - from);
      this.block.set(bytes.subarray(from, from + count), filled);
      this.length += count;
      from += count;
      if (filled + count === 64) this.mix();
    }
    return this;
  }

  mix() {
    const { words: w, hash } = this;
    for (let i = 0; i < 16; i += 1) w[i] = this.view.getInt32(4 * i);
    for (let i = 16; i < 64; i += 1) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => { hash[i] += value; });
  }

  // The digest of all that was added; nothing can be added afterwards.
  hex() {
    const bits = this.length * 8;
    this.update(Uint8Array.of(0x80));
    while (this.length % 64 !== 56) this.update(Uint8Array.of(0));
    const size = new DataView(new ArrayBuffer(8));
    size.setBigUint64(0, BigInt(bits));
    this.update(new Uint8Array(size.buffer));
    return Array.from(this.hash, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

// The bytes of a game's state now, a view of its memory.
export const stateBytes = ({ state }) => new Uint8Array(state.buffer, state.byteOffset, state.byteLength);
