// The list of recorded games, and the frames of each.

const cell = (text) => {
  const td = document.createElement("td");
  td.textContent = text;
  return td;
};

const button = (text, title, action) => {
  const made = document.createElement("button");
  made.textContent = text;
  made.title = title;
  made.addEventListener("click", (event) => { event.currentTarget.blur(); action(); });
  return made;
};

export class GameList {
  // cells(game): its figures. actions: discard(game), and watch(game) and race(game) where games can be played back.
  constructor(body, nothing, cells, actions) {
    Object.assign(this, { body, nothing, cells, actions, games: [], best: null, chosen: null });
    this.loaded = new Map(); // path -> rows
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

  find(collection, name) {
    return this.games.find((game) => game.collection === collection && game.name === name) ?? null;
  }

  // The best game of a collection: the fastest that finished, else the farthest.
  bestOf(collection) {
    const rank = (game) => (game.outcome === "finished" ? 1e6 - game.seconds : game.metres);
    const games = this.games.filter((game) => game.collection === collection);
    return games.length ? games.reduce((one, two) => (rank(two) > rank(one) ? two : one)) : null;
  }

  // All frames of a game, a flat Float32Array of rows.
  async rows(game) {
    const path = `games/${game.collection}/${game.name}.bin`;
    if (!this.loaded.has(path)) {
      const answer = await fetch(path);
      if (!answer.ok) throw new Error(`cannot load ${path}`);
      this.loaded.set(path, new Float32Array(await answer.arrayBuffer()));
    }
    return this.loaded.get(path);
  }

  choose(game) {
    this.chosen = game;
    this.show();
  }

  show() {
    this.nothing.hidden = this.games.length > 0;
    this.body.replaceChildren(...this.games.map((game) => {
      const tr = document.createElement("tr");
      tr.dataset.name = game.name;
      tr.dataset.collection = game.collection;
      const own = game.collection === "own";
      tr.classList.toggle("best", own && this.best?.name === game.name);
      tr.classList.toggle("chosen", this.chosen?.collection === game.collection && this.chosen?.name === game.name);
      const number = Number(game.name.split("-").pop());
      tr.append(
        cell(own ? `${number}` : `${game.collection} ${number}`),
        cell(game.player),
        ...this.cells(game).map(cell),
      );
      const actions = document.createElement("td");
      const { watch, race } = this.actions;
      if (watch) actions.append(button("watch", "Play this game back", () => watch(game)));
      if (race) actions.append(button("race", "Race against this game", () => race(game)));
      if (own) actions.append(button("discard", "Remove this game from the dataset", () => this.actions.discard(game)));
      tr.append(actions);
      return tr;
    }));
  }
}
