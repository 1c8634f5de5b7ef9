// The policy's draws: uniform numbers of a counter-based generator, so that the recorder can compute each of them again.

const WORD = 64n;
const MASK = (1n << WORD) - 1n;
const [M0, M1] = [0xd2e7470ee14c6c93n, 0xca5a826395121157n];
const [W0, W1] = [0x9e3779b97f4a7c15n, 0xbb67ae8584caa73bn];

// The first number, in [0, 1), of NumPy's Philox 4×64-10 (Salmon et al. 2011) with this key, two whole numbers, and this
// counter: [number, game], the lower words.
export function uniform(key, [number, game]) {
  let [k0, k1] = key.map(BigInt);
  let [a, b, c, d] = [BigInt(number) + 1n, BigInt(game), 0n, 0n]; // NumPy counts before its first block
  for (let round = 0; round < 10; round += 1) {
    const [p, q] = [M0 * a, M1 * c];
    [a, b, c, d] = [(q >> WORD) ^ b ^ k0, q & MASK, (p >> WORD) ^ d ^ k1, p & MASK];
    [k0, k1] = [(k0 + W0) & MASK, (k1 + W1) & MASK];
  }
  return Number(a >> 11n) / 2 ** 53;
}

const real = new Float64Array(1);
const bits = new BigUint64Array(real.buffer);

// The largest number below a positive one.
function below(value) {
  real[0] = value;
  bits[0] -= 1n;
  return real[0];
}

// The action of a distribution, float32 [A], by inversion of its distribution function; see `policies.policy.choose`.
export function choose(probabilities, number) {
  let total = 0;
  const cumulative = Array.from(probabilities, (one) => { total += one; return total; });
  const point = Math.min(number * total, below(total));
  return cumulative.filter((sum) => sum <= point).length;
}
