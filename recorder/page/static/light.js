// What a page shows and asks while a policy is corrected: who has control, the speed, and the buttons besides the game's.

import { element } from "./elements.js";

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
  // settings: news, back (0: cannot go back). slow: the key of slow motion.
  constructor({ news, back }, slow) {
    this.who = element("div", "", { id: "who" });
    this.speed = element("div", "", { id: "speed" });
    this.slower = 1; // the length of a frame, of the game's
    const light = element("div", "", { id: "coach" });
    light.append(this.who, this.speed, element("div", news, { id: "news" }));
    document.body.append(light);
    document.body.classList.add("coached");
    const buttons = element("span", "", { id: "coach-keys" });
    const all = [["back", "Backspace", "go back"], ["handOver", "T", "hand over"], ["slow", slow, "slow motion"]];
    buttons.append(...all.slice(back ? 0 : 1).map(footerButton));
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
