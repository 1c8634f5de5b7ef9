// Correcting a policy on the page of QWOP: it plays, you take over, hand back and go back.

import { Control, Light, PERSON, POLICY, welcome } from "./control.js";
import { Sha256 } from "./digest.js";
import { $, element } from "./elements.js";
import { FRAMES_A_SECOND, POSE } from "./engine.js";
import { FRAME } from "./live_game.js";
import { play } from "./packed.js";
import { ACTION_KEYS, Policy } from "./policy.js";
import { Run } from "./run.js";
import { MARKS } from "./splits.js";

// The uniform number, in [0, 1), of a draw in a game of this page, which the recorder can compute again: 52 bits of the
// SHA-256 of its place. key: the seed and the page's number; counter: the number of the draw and the game's.
export function uniform([seed, page], [number, game]) {
  const place = new TextEncoder().encode(`${seed} ${page} ${game} ${number}`);
  return parseInt(new Sha256().update(place).hex().slice(0, 13), 16) / 2 ** 52;
}

// The action of a distribution, float32 [A], by inversion of its distribution function; see `policies.policy.choose`.
export function choose(probabilities, number) {
  let total = 0;
  const cumulative = Array.from(probabilities, (one) => { total += one; return total; });
  return cumulative.filter((sum) => sum <= number * total).length; // less than the total, as a number has 52 bits
}

// A game, and the lines that it leaves by going back. A decision lasts as long as the policy's do, or until control changes,
// so that each belongs to one side. It is [frame, actor, action, number, probabilities]: the policy's action and the number
// of its draw, null for a person's; the probabilities are the policy's in either case.
export class CoachedRun extends Run {
  // coach: { policy, key, count, release, back, greedy, idle, light }. count: number of the game among those of this page.
  constructor(module, keyboard, ghost, now, tempo, coach) {
    super(module, keyboard, ghost, now, tempo);
    Object.assign(this, { module, coach, policy: coach.policy, early: 0, looked: now });
    this.control = new Control(Math.round(coach.release * FRAMES_A_SECOND));
    this.late = this.policy.lag ? this.game.observeStart(this.policy.kind).slice() : null;
    this.decisions = [];
    this.marks = []; // states in which the decisions began
    this.draws = 0;
    this.branch = null; // { of, step }: the line that this one left, and the decisions that both share
    this.line = null; // this line, once it is kept
    this.begins = false; // true after going back: the decision before that place is over, however short it was cut
    const idle = Math.floor(this.draw() * (coach.idle + 1));
    for (let frame = 0; frame < idle; frame += 1) this.advance(0);
    this.stand(now);
  }

  draw() {
    this.draws += 1;
    return uniform(this.coach.key, [this.draws - 1, this.coach.count]);
  }

  // The next frame begins now.
  stand(now) {
    this.live.requested = this.game.keys.length;
    this.live.start = now - this.live.requested * this.live.frame;
  }

  tick(now) {
    const { control } = this;
    if (this.pausedAt === null && control.waiting) {
      const held = this.keyboard.during(this.looked, now);
      if (control.actor(held) !== null) this.early = held;
      this.stand(now);
    }
    this.looked = now;
    super.tick(now);
    this.coach.light(control);
  }

  play(given) {
    const held = given | this.early;
    this.early = 0;
    const actor = this.game.ended ? null : this.control.actor(held);
    if (actor === null) return;
    const [last, frame] = [this.decisions.at(-1), this.game.keys.length];
    if (!last || this.begins || last[1] !== actor || frame - last[0] >= this.policy.framesPerStep) this.decide(actor, frame);
    this.advance(actor === PERSON ? held : ACTION_KEYS[this.decisions.at(-1)[2]]);
  }

  advance(keys) {
    if (this.late) this.late.set(this.game.observe(this.policy.kind));
    super.play(keys);
  }

  decide(actor, frame) {
    this.begins = false;
    const { reals, integers, first } = this.game.save();
    this.marks.push({ reals, integers, first, late: this.late?.slice() });
    const observation = this.late ?? this.game.observe(this.policy.kind);
    const probabilities = this.policy.probabilities(observation);
    const decision = [frame, actor, null, null, [...probabilities]];
    if (actor === POLICY && this.coach.greedy) {
      decision[2] = this.policy.decide(observation);
    } else if (actor === POLICY) {
      decision[3] = this.draws;
      decision[2] = choose(probabilities, this.draw());
    }
    this.decisions.push(decision);
  }

  // True if a decision is in no line that is kept.
  get own() { return this.line === null && this.decisions.length > (this.branch?.step ?? 0); }

  get played() { return super.played && this.own; }

  // The keys to show: yours while you have control; undefined for those of the frame.
  get down() { return this.control.person ? super.down : undefined; }

  // This line is kept under these twelve digits.
  keep(line) { this.line = line; }

  // Returns to the state at least that many seconds ago, at a decision's beginning, and waits. The line was kept, if it has
  // anything of its own.
  goBack(now) {
    const wanted = this.game.keys.length - Math.round(this.coach.back * FRAMES_A_SECOND);
    const place = Math.max(this.decisions.findLastIndex(([frame]) => frame <= wanted), 0);
    if (this.decisions.length) this.restore(this.marks[place], this.decisions[place][0]);
    this.decisions.length = this.marks.length = place;
    if (this.line !== null) this.branch = { of: this.line, step: place };
    else if (this.branch) this.branch.step = Math.min(this.branch.step, place);
    Object.assign(this, { line: null, begins: true, pausedAt: null, early: 0, looked: now }); // keys until now are of the line that was left
    this.control.wait(this.keyboard.mask);
    this.stand(now);
    this.race(this.ghost);
  }

  restore({ reals, integers, first, late }, frame) {
    this.game.restore({ reals, integers, first, keys: this.game.keys.slice(0, frame) });
    this.late?.set(late);
    this.live.rows.length = frame + 1;
    this.live.over = false;
  }

  handOver() { this.control.handOver(this.keyboard.mask); }

  // slower: the length of a frame from now on, of the game's.
  setSpeed(now, slower) { this.live.setFrame(this.pausedAt ?? now, (FRAME / this.tempo) * slower); }

  rows(now) {
    const [own, other] = super.rows(now);
    return [this.control.waiting ? this.live.rows.at(-1) : own, other];
  }

  // Its place among the lines: the page and the number of its game there, whose draws are its own; the line that it left, and
  // the decisions that both share.
  get place() { return { page: this.coach.key[1], game: this.coach.count, of: null, step: 0, ...this.branch }; }

  result() {
    this.sha256 = play(this.module, this.game.keys).sha256;
    return { ...super.result(), place: this.place, decisions: this.decisions.slice() };
  }
}

// The marks that a row has passed.
const passedIn = (row, marks) => marks.filter((mark) => row[POSE] >= mark && row[POSE + 1]).length;

export class Coach {
  // settings: policy (its name), release, back (seconds), greedy, idle (frames), key (of the draws).
  static async load(settings) {
    const file = await fetch("policy.safetensors");
    return new Coach(settings, new Policy(await file.arrayBuffer(), settings.policy));
  }

  constructor(settings, policy) {
    Object.assign(this, { settings, policy, count: 0, current: null, light: new Light("S") });
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
      back: () => { if (is("playing", "paused") || (is("over") && !race.over.game.discarded)) this.goBack(race); },
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
    return this.current === race.run && !game.discarded && race.over?.game === game ? [["Go back (Backspace)", () => this.goBack(race)]] : [];
  }
}
