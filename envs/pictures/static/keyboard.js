// The keys of the game, with the time of every change, so that each frame gets the keys held during it.

const BITS = { q: 1, w: 2, o: 4, p: 8 };
const CODES = { KeyQ: 1, KeyW: 2, KeyO: 4, KeyP: 8 };

// The letter decides if it is a Latin one; on other keyboards, the position of the key does.
const qwopBit = (event) => BITS[event.key.toLowerCase()] ?? (/^[a-z]$/i.test(event.key) ? 0 : CODES[event.code] ?? 0);

// True for elements that take letters themselves.
export const isField = (element) => Boolean(element.matches?.("input:not([type=range]), select, textarea"));

export class Keyboard {
  // bitOf(event): the bit of the key that an event is about, 0 for a key that is not the game's.
  constructor(target, bitOf = qwopBit) {
    this.held = new Map(); // code -> bit, so that releasing a key clears the bit that pressing it set
    this.changes = [{ time: 0, mask: 0, pressed: 0 }];
    target.addEventListener("keydown", (event) => {
      if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return;
      const bit = bitOf(event);
      if (!bit) return;
      event.preventDefault();
      this.press(event.code, bit, event.timeStamp);
    });
    target.addEventListener("keyup", (event) => this.release(event.code, event.timeStamp));
    // No event reports keys that are released in another window.
    window.addEventListener("blur", () => this.releaseAll());
  }

  // button: what is pressed, a key's code or a button of the page; the same one is released again.
  press(button, bit, time) {
    this.held.set(button, bit);
    this.change(time, bit);
  }

  release(button, time) {
    if (this.held.delete(button)) this.change(time, 0);
  }

  releaseAll() {
    if (this.held.size) { this.held.clear(); this.change(performance.now(), 0); }
  }

  get mask() {
    let mask = 0;
    for (const bit of this.held.values()) mask |= bit;
    return mask;
  }

  change(time, pressed) {
    this.changes.push({ time, mask: this.mask, pressed });
  }

  // The keys of the frame from `from` to `to` (ms): those held at its end, and those pressed within it, so that even
  // the shortest press counts.
  during(from, to) {
    let mask = 0;
    let tapped = 0;
    let last = 0;
    this.changes.forEach((change, index) => {
      if (change.time > to) return;
      mask = change.mask;
      last = index;
      if (change.time > from) tapped |= change.pressed;
    });
    this.changes.splice(0, last); // older changes are not needed again
    return mask | tapped;
  }
}
