// The page's keys and buttons, the runner's keys as buttons for touch and mouse, and files dropped.

import { $ } from "./elements.js";
import { isField, nameOf } from "./keyboard.js";

const LETTERS = { r: "restart", g: "ghost", l: "list", m: "sound", escape: "pause", backspace: "back", t: "handOver", s: "slow" };

// actions: restart, pause, ghost, list and sound, which have letters and buttons, and those of a recorder's page; discard, for the game that has ended;
// start(); film(event), for keys while a game is played back; open(files). Those that do nothing now return. letters: of the actions.
export function bind(keyboard, actions, letters = LETTERS) {
  const { bits } = keyboard;
  const names = [...Object.keys(bits), ...Object.keys(letters), "x"];
  const state = () => document.body.dataset.state;

  window.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || state() === "loading") return;
    const key = nameOf(event, names);
    if (isField(event.target) && key !== "escape") return;
    const onButton = event.target.matches?.("button, select, summary, [type=range]");
    const listed = $("drawer").open;
    if (actions[letters[key]]) {
      event.preventDefault();
      actions[letters[key]]();
    } else if (key === "x" && state() === "over" && !listed) {
      actions.discard();
    } else if (state() === "watching" && !onButton) {
      actions.film(event);
    } else if (state() === "ready" && !listed && (key in bits || (!onButton && [" ", "enter"].includes(key)))) {
      actions.start();
    }
  });

  for (const made of document.querySelectorAll("[data-do]")) {
    made.addEventListener("click", () => { made.blur(); actions[made.dataset.do](); });
  }

  for (const cap of document.querySelectorAll("[data-key]")) {
    keyboard.addButton(cap, bits[cap.dataset.key], () => {
      if (state() !== "ready") return false;
      actions.start();
      return true;
    });
  }

  const dropping = (on) => document.body.classList.toggle("dropping", on);
  window.addEventListener("dragover", (event) => { event.preventDefault(); dropping(true); });
  window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) dropping(false); });
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    dropping(false);
    actions.open([...event.dataTransfer.files]);
  });
  $("file").addEventListener("change", () => { actions.open([...$("file").files]); $("file").value = ""; });
}
