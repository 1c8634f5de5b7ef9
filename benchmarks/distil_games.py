"""Train a policy to play searched games by itself.

    qwop-search policy=champion games=31 out=runs/found
    python benchmarks/distil_games.py champion runs/found/games --out distilled.safetensors

The game has no randomness: after the same idle frames, a policy that takes the actions of a searched game plays exactly
that game. The loss is the cross-entropy of the searched actions. On games that the policy plays with exploration,
KL[before‖now] is added, so that it runs as before wherever no searched game leads.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from qwop.common.progress import progress_bar
from qwop.datasets.reader import open_dataset
from qwop.policies.files import load_policy, save_policy
from qwop.policies.rollout import play
from qwop.policies.threads import use_one_thread
from qwop.search.distil import DistilSettings, distil
from rich.console import Console

IDLE = 30
"""Most idle frames of the policy's own games; the same as for searched games."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--under", type=float, default=47.0, help="use only games shorter than this, in seconds")
    parser.add_argument("--steps", type=int, default=12000)
    parser.add_argument("--own", type=float, default=0.5, help="weight of the KL term")
    parser.add_argument("--games", type=int, default=128, help="games that the policy plays for the KL term")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    use_one_thread()
    policy = load_policy(asked.policy)
    finished = [game for game in open_dataset(asked.dataset) if game.outcome == "finished"]
    found = [game for game in finished if game.times[-1] < asked.under]
    states = torch.from_numpy(np.concatenate([game.observations[:-1] for game in found]))
    actions = torch.from_numpy(np.concatenate([game.actions for game in found]).astype(np.int64))
    played = play(policy, episodes=asked.games, seed=asked.seed, greedy=False, max_idle_frames=IDLE)
    own = torch.from_numpy(np.concatenate([game.observations[:-1] for game in played]))
    console = Console()
    console.print(f"{len(found)} games, {len(states)} decisions; {len(own)} of its own")
    with progress_bar("steps", console) as bar:
        task = bar.add_task("", total=asked.steps)

        def show(searched: float, kept: float) -> None:
            bar.update(task, advance=1, description=f"loss {searched:.3f}, from before {kept:.3f}")

        right = distil(policy.network, states, actions, own, DistilSettings(asked.steps, asked.own, asked.seed), show)
    settings = {name: getattr(asked, name) for name in ("under", "steps", "own", "games", "seed")}
    made = replace(policy, training={"command": "distil_games.py", "from": dict(policy.training), "settings": settings})
    console.print(f"{save_policy(asked.out, made)}: takes {right:.3%} of the searched actions")


if __name__ == "__main__":
    main()
