// The page's view of its recorder: your name, the dataset's folder, the connection, and the next command.

import { Coach } from "./coach.js";
import { $, button, element } from "./elements.js";
import { RecordedGames } from "./recorded_games.js";

// changed(): called when your list has changed.
export async function open(module, view, changed) {
  const settings = JSON.parse(document.querySelector("meta[name=recorder]").content);
  const into = `recording into ${settings.folder}`;
  const where = element("span", into, { className: "where", title: into });
  document.querySelector("footer").append(where);
  $("options").prepend($("name").closest("label"));
  $("nothing").textContent = "No games yet: each is recorded as you play.";

  const next = element("p", "", { className: "next-command", hidden: true });
  $("choices").after(next);
  const name = (command) => {
    next.hidden = false;
    const copy = button("Copy", () => {
      navigator.clipboard?.writeText(command).catch(() => {}); // else it is selected by hand
    });
    next.replaceChildren("Enough to learn from: ", element("code", command), " ", copy);
  };
  if (settings.next) name(settings.next);

  const coach = settings.coach ? await Coach.load(settings.coach) : null;
  const games = new RecordedGames(module, settings, coach, (shown) => {
    if (shown.said) view.toast(shown.said);
    if (shown.next) name(shown.next);
    if (shown.changed) changed();
    if (shown.connected !== undefined) {
      document.body.dataset.recorder = shown.connected ? "connected" : "lost";
      where.textContent = shown.connected ? into : "no recorder: games stay in this browser";
    }
  });
  return games.open();
}
