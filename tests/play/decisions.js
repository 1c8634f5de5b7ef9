// Whole games of a policy, to compare its decisions with those of PyTorch.

import { Live } from "./ghosts.js";
import { Policy } from "./policy.js";

// The keys of every frame of greedy games that begin with these numbers of frames without a key.
// file: the policy's, in base64; most: frames after which a game is stopped.
export function gamesOf(module, file, starts, most) {
  const policy = new Policy(Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0)).buffer);
  const live = new Live("", module, policy);
  return starts.map((idle) => {
    live.begin();
    const { game } = live;
    while (game.keys.length < most && !game.ended) live.step(game.keys.length < idle ? 0 : 1);
    return game.keys;
  });
}
