"""A game better than the policy plays, by search over saved states.

    python benchmarks/search_game.py runs/champion --width 16 --lookahead 20 --out found_keys.txt

Takes the policy and the values of the newest checkpoint of a run of `qwop-finetune algorithm=ppo`; the keys replay with
`qwop-evaluate keys=found_keys.txt`, in the original too. With the defaults, about two minutes on a free core.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from qwop.conf.progress import progress_bar
from qwop.envs import replay
from qwop.envs.keys_file import write_keys
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.search import Search, SearchSettings
from qwop.policies.files import load_policy
from qwop.policies.networks import Values
from rich.console import Console


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--lookahead", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("found_keys.txt"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    policy = load_policy(asked.run / "policy.safetensors")
    learner = load_checkpoint(checkpoints(asked.run / "checkpoints")[-1])["learner"]
    policy.network.load_state_dict(learner["network"])
    layers = [weight for name, weight in learner["values"].items() if name.startswith("trunk") and weight.ndim == 2]
    values = Values(policy.network.observation_size, [len(weight) for weight in layers])
    values.load_state_dict(learner["values"])
    console = Console()
    with progress_bar("metres", console) as bar:
        task = bar.add_task("searching", total=100)
        search = Search(policy, values, SearchSettings(asked.width, asked.lookahead))
        keys = search.run(
            lambda metres, seconds: bar.update(task, completed=round(metres), description=f"{seconds:.1f} s")
        )
    events = replay(keys).events[-1]
    how = "landed" if events[3] else "fell"
    first = int(np.flatnonzero(keys)[0])
    title = f"found by search from {asked.run.name}: {how} at {events[0]:.1f} m, {(len(keys) - first) / 30:.2f} s"
    write_keys(asked.out, keys, title)
    console.print(f"{title}\n{asked.out}", highlight=False)


if __name__ == "__main__":
    main()
