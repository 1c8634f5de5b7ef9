// Control of a game that a policy and a person play by turns; and what the page shows of it.

import { element } from "./elements.js";

export const [POLICY, PERSON] = [0, 1]; // actors, as the dataset has them

// Decides who acts. A pressed key gives control to the person; some frames without a key give it back.
export class Control {
  // release: frames without a key after which the policy has control again.
  constructor(release) {
    Object.assign(this, { release, idle: 0, ignored: 0, holds: false, person: false });
    this.waiting = false; // true after going back, until a key is pressed or control is handed over
  }

  // Actor of the next frame, in which the person holds these keys; null while the game waits.
  actor(keys) {
    this.ignored &= keys;
    const held = keys & ~this.ignored;
    if (held) {
      Object.assign(this, { person: true, waiting: false, holds: false, idle: 0 });
    } else if (this.waiting) {
      return null;
    } else if (this.person && !this.holds) {
      this.idle += 1;
      if (this.idle > this.release) this.person = false;
    }
    return this.person ? PERSON : POLICY;
  }

  // Gives control to the other side. The policy keeps it until one of the keys `held` is pressed anew, or another one; the
  // person keeps it without a key until the first one.
  handOver(held) {
    const person = !this.person;
    Object.assign(this, { waiting: false, person, holds: person, ignored: held, idle: 0 });
  }

  // Waits until one of the keys `held` is pressed anew, or another one.
  wait(held) { Object.assign(this, { person: false, waiting: true, idle: 0, holds: false, ignored: held }); }
}

const WHO = { waiting: "Press a key, or hand over", person: "You have control", policy: "The policy has control" };
const SLOWER = [1, 2, 4]; // lengths of a frame that slow motion goes through

function footerButton([action, key, text]) {
  const made = element("button", "");
  made.append(element("kbd", key), ` ${text}`);
  made.dataset.do = action;
  return made;
}

// The first words of such a page; release: seconds.
export const welcome = ({ release }) => [
  "Correct the policy",
  `The policy plays. Press a key of the game to take control; after ${release} s without a key, the policy has it again.`,
];

export class Light {
  // slow: the key of slow motion.
  constructor(slow) {
    this.who = element("div", "", { id: "who" });
    this.speed = element("div", "", { id: "speed" });
    this.slower = 1; // the length of a frame, of the game's
    const light = element("div", "", { id: "coach" });
    light.append(this.who, this.speed);
    document.body.append(light);
    document.body.classList.add("coached");
    const buttons = element("span", "", { id: "coach-keys" });
    const all = [["back", "Backspace", "go back"], ["handOver", "T", "hand over"], ["slow", slow, "slow motion"]];
    buttons.append(...all.map(footerButton));
    document.querySelector("footer").prepend(buttons);
    this.show({ person: false, waiting: false });
  }

  show({ person, waiting }) {
    const who = waiting ? "waiting" : person ? "person" : "policy";
    if (this.who.dataset.who === who) return;
    this.who.dataset.who = who;
    this.who.textContent = WHO[who];
  }

  // Goes through the speeds; returns how much slower than the game's the new one is.
  slow() { return this.at(SLOWER[(SLOWER.indexOf(this.slower) + 1) % SLOWER.length]); }

  at(slower) {
    this.slower = slower;
    this.speed.textContent = slower > 1 ? `1/${slower} speed` : "";
    return slower;
  }
}
