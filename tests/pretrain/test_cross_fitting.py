from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets import Episode
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.pretrain.reestimate import ActionProbabilities, cross_fitted


class Frequencies:
    """A clone that counts: π̂(a) is the frequency of a in the episodes it was fitted to, which it remembers."""

    def __init__(self) -> None:
        self.seen: list[list[int | None]] = []

    def __call__(self, episodes: Sequence[Episode], fold: int) -> ActionProbabilities:
        assert fold == len(self.seen)
        self.seen.append([episode.seed for episode in episodes])
        counts = np.bincount(np.concatenate([episode.actions for episode in episodes]), minlength=11)

        def probabilities(observations: NDArray[np.float32]) -> NDArray[np.float32]:
            return np.tile((counts / counts.sum()).astype(np.float32), (len(observations), 1))

        return probabilities


@pytest.fixture
def episodes() -> list[Episode]:
    return [random_episode(steps=4 + seed, seed=seed) for seed in range(7)]


def random_episode(steps: int, seed: int) -> Episode:
    random = np.random.default_rng(seed)
    actions = random.integers(11, size=steps).astype(np.int16)
    return Episode(
        observations=random.standard_normal((steps + 1, 3)).astype(np.float32),
        actions=actions,
        behaviour_probabilities=smoothed(actions, 11, 0.05),
        rewards=random.standard_normal(steps).astype(np.float32),
        times=np.arange(steps + 1.0),
        keys=None,
        terminated=True,
        truncated=False,
        outcome="terminated",
        player="a player",
        source=f"game {seed}",
        mu_kind="smoothed",
        mu_epsilon=0.05,
        seed=seed,
    )


def test_every_episode_is_judged_by_a_clone_that_never_saw_it(episodes: list[Episode]) -> None:
    fit = Frequencies()
    pairs = list(cross_fitted(episodes, fit, folds=3, floor=1e-3, seed=0))
    assert sorted(index for index, _ in pairs) == list(range(7))
    assert sorted(map(len, fit.seen)) == [4, 5, 5]
    for index, episode in pairs:
        judges = [seen for seen in fit.seen if index not in seen]
        assert len(judges) == 1
        others = np.concatenate([episodes[seed].actions for seed in judges[0] if seed is not None])
        expected = (1 - 0.011) * np.bincount(others, minlength=11) / len(others) + 1e-3
        assert episode.behaviour_probabilities == pytest.approx(np.tile(expected, (len(episode), 1)), abs=1e-6)


def test_nothing_else_changes(episodes: list[Episode]) -> None:
    for index, episode in cross_fitted(episodes, Frequencies(), folds=2, floor=1e-3, seed=1):
        assert episode.mu == "cloned"
        for name in ("observations", "actions", "rewards", "times", "keys", "source", "seed", "metres"):
            assert getattr(episode, name) is getattr(episodes[index], name)


def test_the_seed_deals_the_folds(episodes: list[Episode]) -> None:
    def dealt(seed: int) -> list[list[int | None]]:
        fit = Frequencies()
        list(cross_fitted(episodes, fit, folds=3, floor=1e-3, seed=seed))
        return fit.seen

    assert dealt(0) == dealt(0)
    assert dealt(0) != dealt(1)


@pytest.mark.parametrize(
    ("folds", "floor", "message"),
    [(1, 1e-3, "folds=1"), (8, 1e-3, "folds=8"), (2, 0, "floor=0"), (2, 0.1, "floor=0.1")],
)
def test_impossible_settings_are_refused(episodes: list[Episode], folds: int, floor: float, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        list(cross_fitted(episodes, Frequencies(), folds=folds, floor=floor, seed=0))
