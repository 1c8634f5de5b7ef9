// The keys of the game, with the time of every change, so that each frame gets the keys held during it.

export const BITS = { q: 1, w: 2, o: 4, p: 8 };

// The characters of other keys than letters and digits, on an American keyboard.
const MARKS = {
  Backquote: "`", Minus: "-", Equal: "=", BracketLeft: "[", BracketRight: "]", Backslash: "\\", Semicolon: ";", Quote: "'",
  Comma: ",", Period: ".", Slash: "/",
};

const WITHOUT_CHARACTER = ["Dead", "Process", "Unidentified"]; // accents, input methods, unknown layouts
const LATER = 1000; // ms after now: a time of another clock

// The letter or digit of a full-width character, which input methods send.
const narrow = (key) => (/^[\uff01-\uff5e]$/.test(key) ? String.fromCharCode(key.charCodeAt(0) - 0xfee0) : key);

// The code of the key that an event is about; empty where remote desktops and on-screen keyboards send none.
const codeOf = ({ code }) => (code && code !== "Unidentified" ? code : "");

// The name of the key at the event's position on an American keyboard. Where the code is missing, the old keyCode has it
// for letters and digits.
function placeOf(event) {
  const code = codeOf(event);
  if (code === "Space") return " ";
  if (code) return MARKS[code] ?? /^(?:Key|Digit|Numpad(?=Enter))?([A-Z0-9]|Arrow[A-Z][a-z]+|Enter|Shift)(?:Left|Right)?$/.exec(code)?.[1].toLowerCase();
  const old = String.fromCharCode(event.keyCode ?? 0);
  return /^[A-Z0-9]$/.test(old) ? old.toLowerCase() : undefined;
}

// The name of the key that an event is about, of those given or its own. The character decides if it is one of them or a
// Latin letter; on other keyboards the position does, by the character that is there on an American one: Russian letters,
// the digits of a French keyboard, any key of an input method.
export function nameOf(event, names) {
  const key = narrow(event.key ?? ""); // which a browser's own suggestions lack
  const own = key.toLowerCase();
  const named = key.length > 1 && !WITHOUT_CHARACTER.includes(key);
  if (names.includes(own) || /^[a-z]$/.test(own) || named) return own;
  const place = placeOf(event);
  return names.includes(place) ? place : own;
}

const pointerOf = ({ pointerId }) => `pointer ${pointerId}`;

// True for elements into which text is typed.
export const isField = (element) => Boolean(element?.matches?.("input:not([type=range]), textarea"));

const COMMAND = ["Meta", "OS"]; // while it is held, macOS reports no key that is released

export class Keyboard {
  // bits: of the game's keys, by their names.
  constructor(target, bits = BITS) {
    const names = Object.keys(bits);
    this.bits = bits;
    this.held = new Map(); // what is pressed -> { bit, name, code }, so that its release clears the bit that it set
    this.others = new Set(); // names of keys without a code that are not the game's
    this.changes = [{ time: 0, mask: 0, pressed: 0 }];
    this.taken = 0; // end of the last frame whose keys were taken
    target.addEventListener("keydown", (event) => {
      if (COMMAND.includes(event.key)) this.releaseAll();
      const [name, code] = [nameOf(event, names), codeOf(event)];
      const bit = bits[name];
      if (!bit && !code) this.others.add(name);
      if (!bit || event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return;
      event.preventDefault();
      // A key that repeats and is not held was pressed while another window or a menu had the keyboard.
      if (event.repeat && this.find(name, code) !== undefined) return;
      this.press(code || name, bit, event.timeStamp, { name, code });
    });
    target.addEventListener("keyup", (event) => {
      if (COMMAND.includes(event.key) || event.key === "Alt") this.releaseAll(); // Alt opens a menu, which takes the keyboard
      else this.up(nameOf(event, names), codeOf(event), event.timeStamp);
    });
    // No event reports keys that are released in another window, page or menu, or while something is dragged.
    for (const away of ["blur", "pagehide", "visibilitychange", "contextmenu", "dragstart"]) {
      window.addEventListener(away, () => this.releaseAll());
    }
    // A finger that leaves its button may be lifted anywhere.
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, (event) => this.release(pointerOf(event), event.timeStamp));
    }
  }

  // What is held of a key: that of its code, or of its name where either event has no code.
  find(name, code) {
    if (this.held.has(code)) return code;
    return [...this.held].find(([, key]) => key.name === name && !(code && key.code))?.[0];
  }

  // A key has gone up. One without a code that never went down by this name (the layout has changed, or Shift is held)
  // may be any of those without a code: all go up, as one that stays down by mistake would stay down.
  up(name, code, time) {
    const found = this.find(name, code);
    if (found !== undefined) this.release(found, time);
    else if (!code && !this.others.delete(name)) {
      for (const [button, key] of this.held) if (key.code === "") this.release(button, time);
    }
  }

  // button: what is pressed, a key's code, its name without one, or a button of the page; the same one is released again.
  press(button, bit, time, key = {}) {
    this.held.set(button, { bit, ...key });
    this.change(time, bit);
  }

  release(button, time) {
    if (this.held.delete(button)) this.change(time, 0);
  }

  // Makes an element a key for touch and mouse. begins(): true where its press has begun a game instead.
  addButton(cap, bit, begins) {
    cap.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      if (begins()) return;
      this.press(pointerOf(event), bit, event.timeStamp);
      try {
        cap.setPointerCapture?.(event.pointerId);
      } catch { /* the finger is lifted already */ }
    });
    cap.addEventListener("lostpointercapture", (event) => this.release(pointerOf(event), event.timeStamp));
    cap.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      event.stopPropagation(); // a long touch opens no menu
    });
  }

  releaseAll(time = performance.now()) {
    if (!this.held.size) return;
    this.held.clear();
    this.others.clear();
    this.change(time, 0);
  }

  get mask() {
    let mask = 0;
    for (const { bit } of this.held.values()) mask |= bit;
    return mask;
  }

  // Changes are in order, and none lies within a frame whose keys were taken: one that was reported late counts in the
  // next frame.
  change(time, pressed) {
    const now = performance.now();
    const heard = Number.isFinite(time) && time <= now + LATER ? time : now;
    const { taken, changes } = this;
    this.changes.push({ time: Math.max(heard, changes.at(-1).time, taken && taken + 1e-3), mask: this.mask, pressed });
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
    this.taken = to;
    return mask | tapped;
  }
}
