// Whole games of a policy, to compare its decisions with those of PyTorch.

import { Game } from "./engine.js";
import { Player, Policy } from "./policy.js";

// The keys of every frame of greedy games that begin with these numbers of frames without a key.
// file: the policy's, in base64; most: frames after which a game is stopped.
export function gamesOf(module, file, starts, most) {
  const policy = new Policy(Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0)).buffer);
  const game = new Game(module);
  return starts.map((idle) => {
    game.load();
    const player = new Player(policy, game);
    while (game.keys.length < idle && !game.ended) player.wait();
    while (game.keys.length < most && !game.ended) player.step();
    return game.keys;
  });
}
