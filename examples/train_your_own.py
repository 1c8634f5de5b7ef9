"""Clone the player of a dataset from Python, measure the clone, and save it for the command line.

    python examples/train_your_own.py --out my_policy.safetensors
    qwop-evaluate policy=my_policy.safetensors

Needs the extra `train`. `qwop-pretrain` does the same and measures more; this shows the functions behind it.
"""

import argparse
from pathlib import Path

import qwop
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default=qwop.embedded_dataset(), type=Path, help="default: the embedded games")
    parser.add_argument("--epochs", default=20, type=int, help="passes over the decisions, at most")
    parser.add_argument("--games", default=50, type=int, help="games to measure it by")
    parser.add_argument("--out", default=Path("my_policy.safetensors"), type=Path)
    arguments = parser.parse_args()

    dataset = qwop.open_dataset(arguments.dataset)
    print(f"{len(dataset)} games of {dataset.info.environment}")
    cloned = clone(list(dataset), dataset.info, CloningSettings(epochs=arguments.epochs))
    print(f"{cloned.best.validation_nats:.3f} nats for each decision of the validation games")
    print(f"policy: {qwop.save_policy(arguments.out, cloned.policy)}")

    result = qwop.evaluate(cloned.policy, qwop.EvaluationSettings(episodes=arguments.games, greedy=False))
    figures = result.summary()
    print(f"{figures['finishes']} of {arguments.games} games finished, {figures['mean_metres']:.1f} m on average")


if __name__ == "__main__":
    main()
