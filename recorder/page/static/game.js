// A game under way: which frame is due, its keys, and the moment to show.

export const FRAME = 1000 / 30; // ms of a game frame

const MOST_BEHIND = 8; // frames; after a longer gap (a hidden page) the game has waited

// Between two moments, for a display that is faster than the game. The last numbers of a row are not of the pose.
export function between(one, two, share, pose) {
  const row = one.slice();
  for (let index = 0; index < pose; index += 1) row[index] += (two[index] - one[index]) * share;
  return row;
}

// The moment at a place in a game, rows in a flat array.
export function momentAt(rows, size, pose, place) {
  const last = rows.length / size - 1;
  const at = Math.min(Math.max(place, 0), last);
  const index = Math.floor(at);
  const one = rows.subarray(index * size, (index + 1) * size);
  if (index === last) return one;
  return between(one, rows.subarray((index + 1) * size, (index + 2) * size), at - index, pose);
}

export class LiveGame {
  // send(keys): asks the engine for frames with these keys. now: ms, when the first frame begins.
  constructor(send, keyboard, now) {
    Object.assign(this, { send, keyboard, start: now, asked: 0, rows: [], over: false });
  }

  // Ask for the frames that are due.
  tick(now) {
    if (this.over) return;
    const behind = (now - this.start) / FRAME - this.asked;
    if (behind > MOST_BEHIND) this.start += (behind - 1) * FRAME;
    const keys = [];
    while (this.start + (this.asked + 1) * FRAME <= now) {
      const from = this.start + this.asked * FRAME;
      keys.push(this.keyboard.during(from, from + FRAME));
      this.asked += 1;
    }
    if (keys.length) this.send(keys);
  }

  heard(first, rows) {
    rows.forEach((row, index) => { this.rows[first + index] = row; });
  }

  // A frame behind the clock, so that there is always a next one to go to.
  moment(now, pose) {
    const last = this.rows.length - 1;
    const at = Math.min(Math.max((now - this.start) / FRAME - 1, 0), last);
    const index = Math.floor(at);
    return index === last ? this.rows[last] : between(this.rows[index], this.rows[index + 1], at - index, pose);
  }
}
