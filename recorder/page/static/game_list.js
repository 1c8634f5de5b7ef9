// The list of recorded games.

import { button, element, numberOf } from "./elements.js";

export class GameList {
  // cells(game): its figures. discard(game): takes it out of the dataset.
  constructor(body, nothing, cells, discard) {
    Object.assign(this, { body, nothing, cells, discard, games: [], best: null });
  }

  // Loads the list; where that fails, the one that was loaded before stays.
  async refresh() {
    try {
      const { games, best } = await (await fetch("games.json")).json();
      Object.assign(this, { games, best });
    } catch (error) {
      console.warn("the list of games cannot be loaded", error);
    }
    this.show();
  }

  show() {
    this.nothing.hidden = this.games.length > 0;
    this.body.replaceChildren(...this.games.map((game) => {
      const tr = element("tr", "", { className: this.best?.name === game.name ? "best" : "" });
      tr.dataset.name = game.name;
      tr.append(...[`${numberOf(game.name)}`, game.player, ...this.cells(game)].map((text) => element("td", text)));
      const discard = ({ currentTarget }) => { currentTarget.blur(); this.discard(game); };
      const title = `Discard game ${numberOf(game.name)}: remove it from the dataset`;
      const made = button("discard", discard, { title });
      made.setAttribute("aria-label", title);
      tr.appendChild(element("td", "")).append(made);
      return tr;
    }));
  }
}
