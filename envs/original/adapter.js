// Put into the original game's page before its own scripts run: finds the game, reads it, and plays it frame by frame.
// `names` = {bodies: [...], joints: [...]} decides the order of a frame's numbers. The page is left as it is but for
// the game's `update` and `reset`, through which every frame and every restart passes, and the page's animation frames,
// which can be switched off.
((names) => {
  "use strict";
  if (window.qwopAdapter) return;

  const KEYS = ["QDown", "WDown", "ODown", "PDown"]; // bits 1, 2, 4, 8
  const EVENTS = ["score", "fallen", "jumped", "jumpLanded", "gameEnded", "scoreTime"];
  const TICK = 0.03333333333333333; // what the page's loop gives to `update`

  // --- Finding the game. Minifiers rename variables and functions but keep the names of properties, so the game is
  // whoever is given the properties of its score, its jump and its keys.
  const candidates = new Set();
  const trapped = ["scoreTime", "jumpLanded", "QDown"];
  for (const name of trapped) {
    Object.defineProperty(Object.prototype, name, {
      configurable: true,
      get: () => undefined,
      set(value) {
        Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
        candidates.add(this);
      },
    });
  }

  function bodiesOf(world) {
    const found = new Map();
    for (let body = world.m_bodyList; body; body = body.m_next) found.set(body.m_userData, body);
    return names.bodies.map((name) => found.get(name));
  }

  /** The names that an object lacks to be the game, loaded; none if it is. */
  function lacking(object) {
    const missing = ["update", "reset", "create_player"].filter((name) => typeof object[name] !== "function");
    missing.push(...KEYS.concat("score", "gameEnded", "firstClick").filter((name) => !(name in object)));
    if (object.doneLoading === false) missing.push("doneLoading");
    const world = object.m_world;
    if (!world || typeof world.destroyJoint !== "function") return missing.concat("m_world");
    const bodies = bodiesOf(world);
    missing.push(...names.bodies.filter((name, i) => !bodies[i] || !object[name]));
    missing.push(...names.joints.filter((name) => !object[name] || !object[name].m_bodyA));
    return missing;
  }

  /** What the likeliest candidate so far lacks; nothing once the game is found. Then the traps go. */
  function find() {
    if (game) return [];
    let best = null;
    for (const candidate of candidates) {
      const missing = lacking(candidate);
      if (missing.length === 0) {
        game = candidate;
        for (const name of trapped) delete Object.prototype[name];
        takeOver();
        return missing;
      }
      if (best === null || missing.length < best.length) best = missing;
    }
    return best || ["score"];
  }

  // --- Ending the page's loop.
  const requestAnimationFrame = window.requestAnimationFrame.bind(window);
  let drawn = true;
  window.requestAnimationFrame = (callback) => (drawn ? requestAnimationFrame(callback) : 0);

  // --- The game under way.
  let game = null;
  let update, reset; // the page's own
  let bodies, saved; // once the first game has begun
  let mode = "page"; // who plays: nobody yet (page), `play` (hand), the frames asked for (paced), a person (person)
  let through = false; // calls of `update` are the page's own reset's
  let asked = null; // paced: the frames to play
  let log = null; // person: the game under way
  let ended = []; // person: games, over or given up, that nobody has taken yet

  function takeOver() {
    update = game.update;
    reset = game.reset;
    game.update = function (seconds) {
      if (through) return update.call(game, seconds);
      if (mode === "page") return game.firstClick ? undefined : update.call(game, seconds);
      if (mode === "paced") return playQueued();
      if (mode === "person") return followPerson(seconds);
    };
    game.reset = function () {
      if (mode !== "person" || !saved) return;
      if (!game.gameEnded && log.keys.some(Boolean)) ended.push(log); // given up
      newGame();
    };
  }

  function press(keys) {
    KEYS.forEach((name, bit) => (game[name] = Boolean(keys & (1 << bit))));
  }

  function pressed() {
    return KEYS.reduce((keys, name, bit) => keys | (game[name] ? 1 << bit : 0), 0);
  }

  /**
   * A frame's numbers: x, y, angle, vx, vy, angular velocity of each body, the events, the joints' angles, and what
   * nobody sees: the torque on the head, which the page only ever adds to, and the lower limits of the hips.
   */
  function read(row) {
    for (const body of bodies) {
      const position = body.m_xf.position;
      const velocity = body.m_linearVelocity;
      row.push(position.x, position.y, body.m_sweep.a, velocity.x, velocity.y, body.m_angularVelocity);
    }
    for (const name of EVENTS) row.push(Number(game[name]));
    for (const name of names.joints) {
      const joint = game[name];
      row.push(joint.m_bodyB.m_sweep.a - joint.m_bodyA.m_sweep.a - joint.m_referenceAngle);
    }
    row.push(bodies[names.bodies.indexOf("head")].m_torque, game.leftHip.m_lowerAngle, game.rightHip.m_lowerAngle);
    return row;
  }

  /** Everything reachable from `root` but `outside`, to be put back by the function returned. */
  function capture(root, outside) {
    const kept = new Map();
    const waiting = [root];
    while (waiting.length) {
      const object = waiting.pop();
      if (object === outside || kept.has(object) || object instanceof Node) continue;
      kept.set(object, Array.isArray(object) || ArrayBuffer.isView(object) ? object.slice() : { ...object });
      if (ArrayBuffer.isView(object)) continue;
      for (const value of Object.values(object)) if (value && typeof value === "object") waiting.push(value);
    }
    return () => {
      for (const [object, values] of kept) {
        if (ArrayBuffer.isView(object)) {
          object.set(values);
          continue;
        }
        if (Array.isArray(object)) object.length = values.length;
        else for (const name of Object.keys(object)) if (!Object.hasOwn(values, name)) delete object[name];
        Object.assign(object, values);
      }
    };
  }

  /** The first reset of the page, and its world remembered: a later reset gives the track another order of contacts. */
  function firstGame() {
    press(0);
    through = true;
    try {
      reset.call(game);
    } finally {
      through = false;
    }
    bodies = bodiesOf(game.m_world);
    const cameras = ["world_camera", "ui_camera"].filter((name) => game[name]).map((name) => game[name].get_pos());
    saved = {
      world: capture(game.m_world, game),
      fields: Object.fromEntries(["score", "scoreTime", "hurdleJoint"].map((name) => [name, game[name]])),
      cameras: cameras.map((position) => [position, position.x, position.y]),
    };
  }

  /** The page's own reset, with the world of the first one put back instead of destroyed and made anew. */
  function laterGame() {
    const nothing = () => undefined;
    const spared = [[game, "create_player"], [game, "update"], [game.m_world, "destroyJoint"]];
    spared.push(...names.bodies.map((name) => [game[name], "destroy"]));
    const own = spared.map(([object, name]) => object[name]);
    try {
      for (const [object, name] of spared) object[name] = nothing;
      reset.call(game);
    } finally {
      spared.forEach(([object, name], i) => (object[name] = own[i]));
    }
    saved.world();
    Object.assign(game, saved.fields);
    for (const [position, x, y] of saved.cameras) {
      if (position.set_x) {
        position.set_x(x);
        position.set_y(y);
      } else {
        Object.assign(position, { x, y });
      }
    }
  }

  function newGame() {
    const before = pressed();
    press(0);
    if (saved) laterGame();
    else firstGame();
    log = { keys: [], rows: read([]) };
    if (mode === "person") press(before);
  }

  function playQueued() {
    if (!asked) return;
    const { keys, rows, done } = asked;
    frame(keys[asked.played++], rows);
    if (!game.gameEnded && asked.played < keys.length) return;
    asked = null;
    done(packed(rows));
  }

  function followPerson(seconds) {
    if (!game.firstClick) return update.call(game, seconds);
    if (!saved) newGame();
    if (game.gameEnded) return update.call(game, seconds); // the fallen runner goes on rolling
    if (game.pause) return; // a frame that is no frame: the page would turn the head, and nothing else
    log.keys.push(pressed());
    update.call(game, seconds);
    read(log.rows);
    if (game.gameEnded) ended.push(log);
  }

  function frame(keys, rows) {
    press(keys);
    update.call(game, TICK);
    read(rows);
  }

  /** Doubles in base64: exact, and quicker than JSON. */
  function packed(numbers) {
    const bytes = new Uint8Array(new Float64Array(numbers).buffer);
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
  }

  window.qwopAdapter = {
    find,

    /** The click that takes the title away; false until the game has heard it. */
    click() {
      const canvas = [...document.querySelectorAll("canvas")].sort((a, b) => b.width * b.height - a.width * a.height)[0];
      const box = (canvas || document.body).getBoundingClientRect();
      const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
      for (const type of ["mousedown", "mouseup"]) (canvas || document.body).dispatchEvent(new MouseEvent(type, at));
      return Boolean(game.firstClick);
    },

    /** name: see `mode`. draws: false if nobody looks on; drawing takes longer than playing. */
    setMode(name, draws) {
      mode = name;
      drawn = draws;
    },

    /** A new game; its frame 0. */
    newGame() {
      newGame();
      return packed(log.rows);
    },

    /** Frames with these keys down (one number a frame), until the game ends; each one's numbers. */
    play(keys) {
      const rows = [];
      for (const one of keys) {
        if (game.gameEnded) break;
        frame(one, rows);
      }
      return packed(rows);
    },

    /** The same at the page's own pace. Between calls the game waits. */
    playPaced(keys) {
      if (game.gameEnded || !keys.length) return "";
      return new Promise((done) => (asked = { keys, played: 0, rows: [], done }));
    },

    /** The games that a person has ended or given up since the last call; null on a page that was opened since. */
    take() {
      if (!game) return null;
      const games = ended.map((one) => ({ keys: one.keys, rows: packed(one.rows) }));
      ended = [];
      return games;
    },
  };
})
