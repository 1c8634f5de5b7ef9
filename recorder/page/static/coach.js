// Correcting a policy: who has control, going back, handing over and slow motion.

import { $ } from "./elements.js";

const SLOWER = [1, 2, 4]; // lengths of a frame that M goes through

export const COACH_KEYS = { backspace: "back", t: "handOver", m: "slow" };

export class Coach {
  // settings: release and back (seconds; 0: cannot go back), news. game: what is shown.
  constructor(settings, game) {
    Object.assign(this, { settings, game });
    document.body.classList.add("coached");
    $("news").textContent = settings.news;
    document.querySelector("[data-do=back]").hidden = !settings.back;
    game.title = "Correct the policy";
    game.help = "The policy plays. Press a key of the game to take control; "
      + `after ${settings.release} s without a key, the policy has it again.`;
    this.show(false, false);
  }

  // The light: who has control.
  show(person, waiting) {
    this.game.person = person;
    const who = waiting ? "waiting" : person ? "person" : "policy";
    $("who").dataset.who = who;
    const said = { waiting: "Press a key, or hand over", person: "You have control", policy: "The policy has control" };
    $("who").textContent = said[who];
  }

  // Goes through the speeds; live: the game under way, if any.
  slow(live, now) {
    this.game.slower = SLOWER[(SLOWER.indexOf(this.game.slower) + 1) % SLOWER.length];
    live?.setFrame(now, this.game.frameLength);
    $("speed").textContent = this.game.slower > 1 ? `1/${this.game.slower} speed` : "";
  }
}
