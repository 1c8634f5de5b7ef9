// Your games: the countdown, the run, its pauses and its end.

import { $, figures } from "./elements.js";
import { Game, POSE } from "./engine.js";
import { play } from "./packed.js";
import { Run } from "./run.js";
import { better, MARKS, splitsOf } from "./splits.js";

const COUNTDOWN = ["3", "2", "1"];
const COUNT = 500; // ms each

export class Race {
  // listed(): called when your list has changed. choices(game): more buttons of the card of a game that has ended.
  constructor(module, { view, keyboard, games, sound, opponents, listed, choices }) {
    Object.assign(this, { module, view, keyboard, games, sound, opponents, listed, choices });
    this.startRow = new Game(module).row();
    this.run = null;
    this.countdown = null; // { since, step }
    this.over = null; // the game that has just ended: { game, splits, best, isBest }, game as in the list
    this.passed = 0; // marks of the run
  }

  get state() { return document.body.dataset.state; }

  ready() {
    this.leave();
    this.over = null;
    this.view.state("ready");
    this.view.write("split", "");
    const usual = ["Run 100 metres", "Q and W move the thighs, O and P the calves. Nearly everybody falls over."];
    this.view.card(...(this.games.welcome ?? usual), [["Start", () => this.begin(), true]]);
    this.changed();
    this.refresh();
  }

  begin() {
    this.leave();
    this.clear(0);
    if (!$("counted").checked) return this.start(performance.now());
    this.countdown = { since: performance.now(), step: -1 };
    return this.view.state("countdown");
  }

  count(now) {
    const { countdown } = this;
    const step = Math.floor((now - countdown.since) / COUNT);
    $("countdown").textContent = COUNTDOWN[step] ?? "";
    if (step !== countdown.step && step < COUNTDOWN.length) this.sound.play("tick");
    countdown.step = step;
    if (step >= COUNTDOWN.length) this.start(now);
  }

  start(now) {
    this.countdown = null;
    this.sound.play("start");
    const given = [this.module, this.keyboard, this.opponents.ghost(), now, Number($("tempo").value)];
    this.run = this.games.run?.(...given) ?? new Run(...given);
    this.view.state("playing");
  }

  // Ends what is under way; a run that was begun is kept, as far as it was played.
  leave() {
    if (this.run?.played && !this.run.over) this.keep();
    this.run = this.countdown = null;
    $("countdown").textContent = "";
  }

  // Keeps the run; returns its entry.
  keep() {
    const kept = this.games.add(this.run.result(), this.run.flat());
    this.run.keep?.(kept.id);
    if (!this.games.kept) this.view.toast("This browser does not keep games: save those you like as files.");
    return kept;
  }

  // Games that were under way when their page closed.
  async recover() {
    for (const found of await this.games.takeRunning()) {
      if (!found.keys.some(Boolean)) continue;
      const { rows, ...result } = play(this.module, found.keys);
      const game = this.games.add({ ...result, tempo: found.tempo }, rows);
      this.view.toast(`Game ${game.number}, which was under way when the page closed, is kept: ${figures(game)}.`);
      this.refresh();
    }
  }

  pause() {
    if (this.countdown || (this.run && this.run.game.first === null)) this.ready();
    if (this.state !== "playing" || !this.run || this.run.over) return;
    this.run.pause(performance.now());
    this.keyboard.releaseAll();
    this.view.state("paused");
    const choices = [["Go on (Esc)", () => this.resume(), true], ["Start again (R)", () => this.begin()]];
    this.view.card("Paused", "The clock stands still.", choices);
  }

  // The run goes on from an earlier state, from which on it has passed so many marks.
  goOn(passed) {
    this.clear(passed);
    this.view.state("playing");
  }

  // Nothing that was shown is left on the page.
  clear(passed) {
    Object.assign(this, { over: null, passed });
    this.view.hideToast();
    this.view.write("split", "");
    document.activeElement?.blur();
  }

  resume() {
    document.activeElement?.blur();
    this.run.resume(performance.now());
    this.view.state("playing");
  }

  // The choice of a ghost has changed.
  changed() {
    const ghost = this.opponents.ghost();
    if (this.run && !this.run.over) this.run.race(ghost);
    if (this.state !== "watching") this.view.ahead(ghost?.title, this.startRow, null);
  }

  tick(now) {
    if (this.countdown) this.count(now);
    if (this.run) this.draw(now);
    else this.view.draw(this.startRow, null);
  }

  draw(now) {
    const { run, view } = this;
    run.tick(now);
    const [own, other] = run.rows(now);
    view.draw(own, other, run.down);
    view.ahead(run.ghost?.title, own, other);
    if (!run.over) this.marks(own);
    if (run.over && this.state === "playing") this.end();
    else if (run.played && !run.over) this.games.follow(run, now);
  }

  marks(row) {
    const best = this.bestSplits();
    while (this.passed < MARKS.length - 1 && row[POSE] >= MARKS[this.passed] && row[POSE + 1]) {
      this.view.split(this.passed, row[POSE + 1], best);
      this.sound.play("split");
      this.passed += 1;
    }
  }

  bestSplits() {
    const { best } = this.games;
    if (best) best.splits ??= splitsOf(this.opponents.rows(best), best.outcome);
    return best?.splits ?? null;
  }

  end() {
    const best = this.bestSplits();
    const before = this.games.best;
    const game = this.keep();
    const splits = splitsOf(game.rows, game.outcome);
    this.over = { game, best, isBest: !before || better(game, before), splits };
    this.sound.play(game.outcome === "finished" ? "finish" : "fall");
    this.view.state("over");
    this.refresh();
  }

  showOver() {
    const { game, best, isBest, splits } = this.over;
    const finished = game.outcome === "finished";
    const title = finished ? `Finished in ${game.seconds.toFixed(2)} s` : `Fell after ${game.metres.toFixed(1)} m`;
    const kept = game.discarded ? "Discarded." : this.games.said(game, isBest);
    const detail = finished ? kept : `${game.seconds.toFixed(2)} s on your feet. ${kept}`;
    const choices = [["Run again (R)", () => this.begin(), true], ...this.choices(game)];
    if (!game.discarded) choices.push(["Discard (X)", () => this.discard(game)]);
    this.view.card(title, detail, choices, [splits, best]);
  }

  discard(game) {
    if (!this.games.remove(game)) {
      this.view.toast("It cannot be discarded now.");
      return;
    }
    if (this.opponents.chosen === game) this.opponents.choose("pacer");
    game.discarded = true;
    this.refresh();
    this.view.toast(`Game ${game.number} is discarded.`, () => {
      game.discarded = false;
      this.games.restore(game);
      this.refresh();
    });
  }

  // Shows the games as they are now.
  refresh() {
    const { best } = this.games;
    this.view.write("best", best ? `best ${figures(best)}` : "");
    this.opponents.show();
    this.listed();
    if (this.state === "over") this.showOver();
  }
}
