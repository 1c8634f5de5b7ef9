// Correcting a policy on the page: who has control, going back, handing over and slow motion.

import { CoachedRun, passedIn } from "./coached.js";
import { $, element } from "./elements.js";
import { Policy } from "./policy.js";
import { MARKS } from "./splits.js";

const BUTTONS = [["back", "Backspace", "go back"], ["handOver", "T", "hand over"], ["slow", "S", "slow motion"]];
const WHO = { waiting: "Press a key, or hand over", person: "You have control", policy: "The policy has control" };

function footerButton([action, key, text]) {
  const made = element("button", "");
  made.append(element("kbd", key), ` ${text}`);
  made.dataset.do = action;
  return made;
}

export class Coach {
  // settings: policy (its name), release, back (seconds), greedy, idle (frames), key (of the draws), news.
  static async load(settings) {
    const file = await fetch("policy.safetensors");
    return new Coach(settings, new Policy(await file.arrayBuffer(), settings.policy));
  }

  constructor(settings, policy) {
    Object.assign(this, { settings, policy, count: 0, current: null, race: null });
    this.who = element("div", "", { id: "who" });
    this.speed = element("div", "", { id: "speed" });
    const light = element("div", "", { id: "coach" });
    light.append(this.who, this.speed, element("div", settings.news, { id: "news" }));
    document.body.append(light);
    document.body.classList.add("coached");
    const buttons = element("span", "", { id: "coach-keys" });
    buttons.append(...BUTTONS.map(footerButton));
    document.querySelector("footer").prepend(buttons);
    document.head.append(element("link", "", { rel: "stylesheet", href: "coach.css" }));
    this.light({ person: false, waiting: false });
  }

  get welcome() {
    const { release } = this.settings;
    return ["Correct the policy", `The policy plays. Press a key of the game to take control; after ${release} s without a key, the policy has it again.`];
  }

  // See `Run`. The draws of each game of this page are its own.
  run(...given) {
    const count = this.count;
    this.count += 1;
    this.speed.textContent = "";
    this.current = new CoachedRun(...given, { ...this.settings, policy: this.policy, count, light: (control) => this.light(control) });
    return this.current;
  }

  light({ person, waiting }) {
    const who = waiting ? "waiting" : person ? "person" : "policy";
    if (this.who.dataset.who === who) return;
    this.who.dataset.who = who;
    this.who.textContent = WHO[who];
  }

  // The page's actions; race: in which they are. Those that do nothing now return.
  actions(race) {
    const is = (...states) => this.current && race.run === this.current && states.includes(race.state) && !$("drawer").open;
    return {
      back: () => { if (is("playing", "paused") || (is("over") && !race.over.discarded)) this.goBack(race); },
      handOver: () => { if (is("playing") && !this.current.over) this.current.handOver(); },
      slow: () => { if (is("playing", "paused")) this.slow(); },
    };
  }

  // The line that is left is kept first, unless it is already.
  goBack(race) {
    const now = performance.now();
    if (this.current.played) race.keep();
    this.current.goBack(now);
    this.light(this.current.control);
    race.goOn(passedIn(this.current.live.rows.at(-1), MARKS.slice(0, -1)));
  }

  slow() {
    const slower = this.current.slow(performance.now());
    this.speed.textContent = slower > 1 ? `1/${slower} speed` : "";
  }

  // More buttons of the card of a game that has ended.
  choices(race, game) {
    return this.current === race.run && !race.over?.discarded && race.over?.game === game ? [["Go back (Backspace)", () => this.goBack(race)]] : [];
  }
}
