"""Find better games than a policy plays, by searching over saved states.

    python benchmarks/search_games.py runs/champion --width 48 --lookahead 30 --out found_keys.txt
    python benchmarks/search_games.py runs/champion --games 31 --width 32 --lookahead 15 --dataset data/found

Uses the policy and the values of the newest checkpoint of a `qwop-finetune algorithm=ppo` run. The keys of the best
game replay with `qwop-evaluate keys=found_keys.txt`, in the original game, too; a dataset of games can be taught to the
policy (`distil_games.py`). Game k begins after k idle frames; game 31 begins like game 0. A game of the first command
takes a minute or two on a free core, one of the second 22 seconds.
"""

import argparse
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from qwop.common.progress import progress_bar
from qwop.datasets.behaviour_probabilities import smoothed, smoothed_name
from qwop.datasets.origin import Origin
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.keys_file import write_keys
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.policies.files import load_policy
from qwop.policies.networks import Values
from qwop.policies.policy import Policy
from qwop.policies.threads import use_one_thread
from qwop.search.beam import Search, SearchSettings
from rich.console import Console

EPSILON = 0.05
"""ε of the smoothed behaviour probabilities; a search has none of its own."""

IDLE = 30
"""Most idle frames at the start of a game."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--games", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first game")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--lookahead", type=int, default=20)
    parser.add_argument("--out", type=Path, help="keys file to write the best game to")
    parser.add_argument("--dataset", type=Path, help="dataset to write all games to")
    asked = parser.parse_args()
    use_one_thread()
    policy, values = newest(asked.run)
    search = Search(policy, values, SearchSettings(asked.width, asked.lookahead))
    info = DatasetInfo(policy.environment, policy.observation, policy.actions)
    writer = DatasetWriter(asked.dataset, info) if asked.dataset else None
    console = Console()
    best: Episode | None = None
    with progress_bar("metres", console) as bar:
        for number in range(asked.first, asked.first + asked.games):
            task = bar.add_task(f"game {number}", total=100)

            def show(metres: float, seconds: float) -> None:
                bar.update(task, completed=round(metres), description=f"game {number}, {seconds:.1f} s")  # noqa: B023

            episode = found_game(policy, search, number, f"search from {asked.run.name}", show)
            bar.remove_task(task)
            bar.console.print(f"game {number}: {described(episode)}", highlight=False)
            if writer:
                writer.write(episode)
            if best is None or rank(episode) < rank(best):
                best = episode
    if asked.out and best:
        keys = np.concatenate(best.keys or ())
        console.print(write_keys(asked.out, keys, f"found by search from {asked.run.name}: {described(best)}"))


def newest(run: Path) -> tuple[Policy, Values]:
    """Load the policy and the values of a run's newest checkpoint."""
    policy = load_policy(run / "policy.safetensors")
    learner = load_checkpoint(checkpoints(run / "checkpoints")[-1])["learner"]
    policy.network.load_state_dict(learner["network"])
    layers = [weight for name, weight in learner["values"].items() if name.startswith("trunk") and weight.ndim == 2]
    values = Values(policy.network.observation_size, [len(weight) for weight in layers])
    values.load_state_dict(learner["values"])
    return policy, values


def found_game(policy: Policy, search: Search, number: int, source: str, show) -> Episode:
    """Search a game, and play it in the policy's environment."""
    env = policy.environment.make(max_idle_frames=IDLE)
    idle = number % (IDLE + 1)
    for seed in count():  # an environment's idle frames are its seed's
        observation, info = env.reset(seed=seed)
        if info["idle_frames"] == idle:
            break
    actions = search.run(idle, show)
    observations, rewards, times, keys = [observation], [], [float(info["clock"])], []
    terminated = truncated = False
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(int(action))
        observations.append(observation)
        rewards.append(reward)
        times.append(float(info["clock"]))
        keys.append(np.full(info["frames"], ACTION_KEYS[action], dtype=np.uint8))
    keys[0] = np.concatenate([np.zeros(idle, dtype=np.uint8), keys[0]])
    env.close()
    return Episode(
        observations=np.array(observations, dtype=np.float32),
        actions=actions.astype(np.int16),
        behaviour_probabilities=smoothed(actions, len(ACTION_KEYS), EPSILON),
        rewards=np.array(rewards, dtype=np.float32),
        times=np.array(times),
        keys=tuple(keys),
        terminated=terminated,
        truncated=truncated,
        outcome=info["outcome"] if terminated or truncated else "stopped",
        player="search",
        source=source,
        probabilities_from=smoothed_name(EPSILON),
        seed=seed,
        metres=float(info["distance"]),
        origin=Origin(game=number),
    )


def seconds_of(episode: Episode) -> float:
    """Seconds from the first key to the end."""
    keys: NDArray[np.uint8] = np.concatenate(episode.keys or ())
    return (len(keys) - int(np.flatnonzero(keys)[0])) / 30


def rank(episode: Episode) -> tuple[bool, float]:
    return episode.outcome != "finished", seconds_of(episode)


def described(episode: Episode) -> str:
    return f"{episode.outcome} at {episode.metres:.1f} m after {seconds_of(episode):.2f} s"


if __name__ == "__main__":
    main()
