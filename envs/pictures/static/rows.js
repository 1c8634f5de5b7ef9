// Rows of numbers, one per game frame, and what lies between them.

// Interpolates between two rows, for displays faster than the game. Only the first `pose` numbers are interpolated.
export function interpolate(one, two, fraction, pose) {
  const row = one.slice();
  for (let index = 0; index < pose; index += 1) row[index] += (two[index] - one[index]) * fraction;
  return row;
}

// Rows as one flat array.
export function flat(rows) {
  const all = new Float32Array(rows.length * rows[0].length);
  rows.forEach((row, index) => all.set(row, index * row.length));
  return all;
}

// The row at a fractional frame of a game; `rows` is a flat array of rows of `size` numbers.
export function rowAt(rows, size, pose, frame) {
  const last = rows.length / size - 1;
  const at = Math.min(Math.max(frame, 0), last);
  const index = Math.floor(at);
  const one = rows.subarray(index * size, (index + 1) * size);
  if (index === last) return one;
  return interpolate(one, rows.subarray((index + 1) * size, (index + 2) * size), at - index, pose);
}
