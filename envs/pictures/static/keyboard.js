// The keys of the game, with the time of every change, so that each frame gets the keys held during it.

export const BITS = { q: 1, w: 2, o: 4, p: 8 };

// The characters of other keys than letters and digits, on an American keyboard.
const MARKS = {
  Backquote: "`", Minus: "-", Equal: "=", BracketLeft: "[", BracketRight: "]", Backslash: "\\", Semicolon: ";", Quote: "'",
  Comma: ",", Period: ".", Slash: "/",
};

const WITHOUT_CHARACTER = ["Dead", "Process", "Unidentified"]; // accents, input methods, unknown layouts

// The name of the key that an event is about, of those given or its own. The character decides if it is one of them or a
// Latin letter; on other keyboards the position does, by the character that is there on an American one: Russian letters,
// the digits of a French keyboard, any key of an input method.
export function nameOf(event, names) {
  const key = event.key ?? ""; // which a browser's own suggestions lack
  const own = key.toLowerCase();
  const named = key.length > 1 && !WITHOUT_CHARACTER.includes(key);
  if (names.includes(own) || /^[a-z]$/.test(own) || named) return own;
  const place = MARKS[event.code] ?? /^(?:Key|Digit)([A-Z0-9])$/.exec(event.code ?? "")?.[1].toLowerCase();
  return names.includes(place) ? place : own;
}

// True for elements into which text is typed.
export const isField = (element) => Boolean(element?.matches?.("input:not([type=range]), textarea"));

export class Keyboard {
  // bits: of the game's keys, by their names.
  constructor(target, bits = BITS) {
    const names = Object.keys(bits);
    this.held = new Map(); // code -> bit, so that releasing a key clears the bit that pressing it set
    this.changes = [{ time: 0, mask: 0, pressed: 0 }];
    target.addEventListener("keydown", (event) => {
      if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return;
      const bit = bits[nameOf(event, names)];
      if (!bit) return;
      event.preventDefault();
      this.press(event.code, bit, event.timeStamp);
    });
    // While Command is held, macOS reports no key that is released.
    const released = (event) => {
      if (event.key === "Meta") this.releaseAll(event.timeStamp);
    };
    target.addEventListener("keydown", released);
    target.addEventListener("keyup", released);
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

  // Makes an element a key for touch and mouse. begins(): true where its press has begun a game instead.
  addButton(cap, bit, begins) {
    const name = (event) => `pointer ${event.pointerId}`;
    cap.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      if (begins()) return;
      cap.setPointerCapture?.(event.pointerId);
      this.press(name(event), bit, event.timeStamp);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      cap.addEventListener(end, (event) => this.release(name(event), event.timeStamp));
    }
    cap.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  releaseAll(time = performance.now()) {
    if (!this.held.size) return;
    this.held.clear();
    this.change(time, 0);
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
