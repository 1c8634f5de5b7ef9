// The list of recorded games.

const cell = (text) => {
  const td = document.createElement("td");
  td.textContent = text;
  return td;
};

const button = (text, title, action) => {
  const made = document.createElement("button");
  made.textContent = text;
  made.title = title;
  made.setAttribute("aria-label", title);
  made.addEventListener("click", (event) => { event.currentTarget.blur(); action(); });
  return made;
};

export const numberOf = (game) => Number(game.name.split("-").pop());

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
      const tr = document.createElement("tr");
      tr.dataset.name = game.name;
      tr.classList.toggle("best", this.best?.name === game.name);
      tr.append(cell(`${numberOf(game)}`), cell(game.player), ...this.cells(game).map(cell));
      const actions = document.createElement("td");
      actions.append(button("discard", `Discard game ${numberOf(game)}: remove it from the dataset`, () => this.discard(game)));
      tr.append(actions);
      return tr;
    }));
  }
}
