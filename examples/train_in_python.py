"""Record games, clone their player, fine-tune the clone with and without demonstrations, and compare, in Python.

    python examples/train_in_python.py
    python examples/train_in_python.py --decisions 20000 --seeds 5 --out runs/longer

Needs the extra `train`. Keyword arguments are the settings of the command line, by the same names.
"""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
import qwop


def record(folder: Path, games: int = 10) -> qwop.Dataset:
    """Record games of CartPole, of a player who follows the pole and acts at random in 40 % of the decisions."""
    chance = np.random.default_rng(0)
    with qwop.Collector(gymnasium.make("CartPole-v1"), folder, player="rule") as env:
        for game in range(games):
            (_, _, angle, speed), _ = env.reset(seed=game)
            while True:
                right = chance.random() > 0.5 if chance.random() < 0.4 else angle + 0.2 * speed > 0
                (_, _, angle, speed), _, terminated, truncated, _ = env.step(int(right))
                if terminated or truncated:
                    break
    return qwop.open_dataset(folder)


def solved(phase: str, decisions: int, row: dict[str, float]) -> bool:
    """Callback: False, which ends the run, once live games are as long as they can be."""
    return row.get("live/return", 0.0) < 499.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=10_000, help="decisions of a training")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of each kind")
    parser.add_argument("--out", type=Path, default=Path("runs/python"), help="folder of the games and the runs")
    arguments = parser.parse_args()

    games = record(arguments.out / "games")
    print(games.summary().returns)
    clone = qwop.pretrain(games, epochs=20, games=10, quiet=True)
    print(clone.measures)
    print(clone.games[["greedy", "mean_return"]])

    half = arguments.decisions // 2
    schedules = {
        "with": [qwop.Phase("mixed", decisions=half, demonstrations=1.0), qwop.Phase("alone", decisions=half)],
        "without": [qwop.Phase("alone", decisions=arguments.decisions)],
    }
    for seed in range(arguments.seeds):
        for name, phases in schedules.items():
            run = qwop.finetune(
                clone.policy,
                demonstrations=games,
                schedule=qwop.Schedule(phases),
                algorithm="acer-small",
                loop={"value_decisions": 2_000},
                evaluation={"episodes": 10, "drawn": 10},
                video=False,
                seed=seed,
                out=arguments.out / f"{name}-{seed}",
                callbacks=[solved],
                quiet=True,
            )
            print(f"{name}, seed {seed}: {run.verdict or 'stopped, as the games are solved'}")
    print(run.log.filter(["phase", "decisions", "live/return"]).tail())
    print(qwop.evaluate(run.policy, episodes=20).table["reward"].describe())

    comparison = qwop.compare(
        {name: f"{arguments.out}/{name}-*" for name in schedules}, out=arguments.out / "comparison"
    )
    print(comparison.table[["row", "figure", "games", "mean", "mean_low", "mean_high"]])
    print(f"page: {arguments.out / 'comparison/report.html'}")


if __name__ == "__main__":
    main()
