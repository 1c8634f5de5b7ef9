"""Episodes in which a policy and a person share control."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, Episode, control
from qwop.datasets.control import Branch, corrected, without_shared
from qwop.datasets.origin import Origin
from qwop.datasets.verify import differences_of_branch, verify

from ..fakes import dataset_of

MakeEpisode = Callable[..., Episode]


def coached(make_episode: MakeEpisode, actors: list[int], **fields: Any) -> Episode:
    asked = np.full((len(actors), 11), 1 / 11, dtype=np.float32)
    given = {"actors": np.array(actors, dtype=np.int8), "policy_probabilities": asked, "origin": Origin(game=0)}
    return make_episode(len(actors), **{**given, **fields})


@pytest.fixture
def line(make_episode: MakeEpisode) -> Episode:
    return coached(make_episode, [0, 0, 1, 1, 0, 1])


def branch_of(line: Episode, step: int) -> Episode:
    """The same decisions up to `step`, and others after it."""
    rewards = line.rewards.copy()
    rewards[step:] += 1
    return replace(line, rewards=rewards, branch=Branch(0, step), origin=Origin(game=1))


@pytest.mark.parametrize(("actors", "mu"), [([0, 0], "recorded"), ([1, 1], "smoothed(0.05)"), ([0, 1], "mixed(0.05)")])
def test_probabilities_of_the_policys_decisions_are_those_that_it_drew_with(
    make_episode: MakeEpisode, actors: list[int], mu: str
) -> None:
    person = make_episode(2, mu_kind="smoothed", mu_epsilon=0.05)
    even = np.full(person.behaviour_probabilities.shape[1], 1 / person.behaviour_probabilities.shape[1], np.float32)
    episode = control.coached(
        person, np.array(actors, dtype=np.int8), [even] * actors.count(0),
        policy_probabilities=person.behaviour_probabilities,
    )  # fmt: skip
    for row, actor in enumerate(actors):
        expected = even if actor == 0 else person.behaviour_probabilities[row]
        assert np.array_equal(episode.behaviour_probabilities[row], expected)
    assert episode.mu == mu


@pytest.mark.parametrize("data", [[], {"game": 1}, {"game": 1, "step": -1}, {"game": True, "step": 1}])
def test_a_wrong_branch_is_refused(data: Any) -> None:
    with pytest.raises(BadInput, match="branch"):
        Branch.from_json(data)


def test_letting_go_is_nothing_to_learn_from(line: Episode) -> None:
    keys = [np.array([held], dtype=np.uint8) for held in (1, 1, 4, 0, 1, 0)]
    game = replace(line, keys=tuple(keys))
    # Row 3 is the second without a key before the policy had control again; row 5 is the game's end.
    assert corrected(game).tolist() == [False, False, True, False, False, True]


def test_a_branchs_own_decisions_are_those_after_it_left(line: Episode) -> None:
    own = without_shared(branch_of(line, 4))
    assert len(own) == 2
    assert np.array_equal(own.observations, line.observations[4:])
    assert own.actors is not None
    assert own.actors.tolist() == [0, 1]
    assert without_shared(line) is line


def test_verification_compares_a_branch_with_what_it_left(tmp_path: Path, info: DatasetInfo, line: Episode) -> None:
    rewards = line.rewards.copy()
    rewards[1] += 1
    false = replace(branch_of(line, 3), rewards=rewards, origin=Origin(game=2))
    lost = replace(branch_of(line, 3), branch=Branch(7, 3), origin=Origin(game=3))
    others = replace(line, rewards=line.rewards + 1)  # of the same place, as in merged recordings: a branch fits any
    games = line, others, branch_of(line, 3), branch_of(others, 3), false, lost
    name = dataset_of(tmp_path, info, *games).files[0].name
    _, problems = verify(tmp_path, replay=False)
    faults = [f"{one}" for one in problems if not one.harmless]
    notes = [f"{one}" for one in problems if one.harmless]
    assert [fault.partition(": ")[2] for fault in faults] == [
        f"rewards before row 3 differs from {name}, which it left"
    ]
    assert any("the episode that it left, game 7, is not here" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [("observations", 3, "observations before row 3"), ("times", 3, "times before row 3"), ("keys", 2, "keys before")],
)
def test_what_a_branch_shares_includes_the_moment_in_which_it_left(
    line: Episode, name: str, row: int, said: str
) -> None:
    branch = branch_of(line, 3)
    values = [np.copy(one) for one in getattr(line, name)]
    values[row] = np.zeros_like(values[row]) if name != "times" else values[row] - 1e-9
    changed = tuple(values) if name == "keys" else np.array(values)
    assert differences_of_branch(branch, line) is None
    assert differences_of_branch(branch, replace(line, **{name: changed})).startswith(said)  # type: ignore[union-attr,arg-type]
