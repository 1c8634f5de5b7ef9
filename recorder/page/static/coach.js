// Correcting a policy on the page of QWOP: going back, handing over and slow motion.

import { CoachedRun, passedIn } from "./coached.js";
import { $, element } from "./elements.js";
import { Light, welcome } from "./light.js";
import { Policy } from "./policy.js";
import { MARKS } from "./splits.js";

export class Coach {
  // settings: policy (its name), release, back (seconds), greedy, idle (frames), key (of the draws), news.
  static async load(settings) {
    const file = await fetch("policy.safetensors");
    return new Coach(settings, new Policy(await file.arrayBuffer(), settings.policy));
  }

  constructor(settings, policy) {
    Object.assign(this, { settings, policy, count: 0, current: null, light: new Light(settings, "S") });
    document.head.append(element("link", "", { rel: "stylesheet", href: "coach.css" }));
  }

  get welcome() { return welcome(this.settings); }

  // See `Run`. The draws of each game of this page are its own.
  run(...given) {
    const { settings, policy, count, light } = this;
    this.count += 1;
    light.at(1);
    this.current = new CoachedRun(...given, { ...settings, policy, count, light: (control) => light.show(control) });
    return this.current;
  }

  // The page's actions; race: in which they are. Those that do nothing now return.
  actions(race) {
    const is = (...states) => this.current && race.run === this.current && states.includes(race.state) && !$("drawer").open;
    return {
      back: () => { if (is("playing", "paused") || (is("over") && !race.over.discarded)) this.goBack(race); },
      handOver: () => { if (is("playing") && !this.current.over) this.current.handOver(); },
      slow: () => { if (is("playing", "paused")) this.current.setSpeed(performance.now(), this.light.slow()); },
    };
  }

  // The line that is left is kept first, unless it is already.
  goBack(race) {
    const now = performance.now();
    if (this.current.played) race.keep();
    this.current.goBack(now);
    this.light.show(this.current.control);
    race.goOn(passedIn(this.current.live.rows.at(-1), MARKS.slice(0, -1)));
  }

  // More buttons of the card of a game that has ended.
  choices(race, game) {
    return this.current === race.run && !race.over?.discarded && race.over?.game === game ? [["Go back (Backspace)", () => this.goBack(race)]] : [];
  }
}
