"""Episodes of plain arrays: one call, in the environment's own form, with defaults."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import qwop
import torch
from gymnasium import spaces
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.envs.actions import form_of, numbers_of
from qwop.envs.spec import EnvironmentSpec

from ..fakes import Odd, registered


def test_the_data_of_gymnasiums_loop_are_an_episode(tmp_path: Path) -> None:
    env = gymnasium.make("CartPole-v1")
    observations, actions, rewards, ends = [env.reset(seed=3)[0]], [], [], []
    while not ends or not ends[-1]:
        actions.append(env.action_space.sample())
        observation, reward, terminated, _, _ = env.step(actions[-1])
        observations.append(observation)
        rewards.append(reward)
        ends.append(terminated)
    for _ in range(2):
        facts: dict[str, Any] = {"environment": "CartPole-v1", "terminated": ends, "player": "chance", "seed": 3}
        path = qwop.write_episode(tmp_path, observations, actions, rewards, **facts)
    assert path.name.startswith("episode-000001-")
    # An environment may give its truths as arrays of one.
    qwop.write_episode(tmp_path / "own", observations, actions, environment="CartPole-v1", terminated=np.array([True]))
    assert open_dataset(tmp_path / "own")[0].terminated
    dataset = open_dataset(tmp_path)
    np.testing.assert_array_equal(dataset[0].observations, np.array(observations, np.float32))
    assert dataset[0].actions.tolist() == actions
    assert (dataset[0].terminated, dataset[0].truncated, dataset[0].outcome) == (True, False, "terminated")
    assert (dataset[0].player, dataset[0].seed, dataset[0].times) == ("chance", 3, None)
    assert dataset[0].behaviour_probabilities[0].max() == pytest.approx(0.975)
    assert dataset.info.action_names == ("push left", "push right")


def test_tensors_are_their_numbers(tmp_path: Path) -> None:
    for kind in (torch.float32, torch.bfloat16):
        seen = torch.full((3, 4), 0.5, dtype=kind, requires_grad=True)
        rewards = [torch.tensor(1.0, requires_grad=True)] * 2
        qwop.write_episode(tmp_path, seen, torch.tensor([1, 0]), rewards, environment="CartPole-v1")
    for episode in open_dataset(tmp_path):
        assert (episode.observations == 0.5).all()
        assert (episode.actions.tolist(), episode.rewards.tolist()) == ([1, 0], [1, 1])


def test_what_is_left_out_takes_a_default_and_other_fields_are_of_any_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    qwop.write_episode("~/mine", np.zeros((2, 4)), [1, 0], environment="CartPole-v1")
    mu = np.array([[0.25, 0.75], [0.5, 0.5]])
    more: dict[str, Any] = {"behaviour_probabilities": mu, "times": [0, 0.1, 0.2], "seed": np.int64(7)}
    qwop.write_episode("~/mine", np.ones((3, 4)), [[1.0], [0.0]], truncated=True, **more)  # the dataset's environment
    first, second = open_dataset(tmp_path / "mine")
    assert (first.observations.shape, first.rewards.tolist()) == ((3, 4), [0, 0])
    assert (first.terminated, first.truncated) == (False, True)
    assert (second.actions.tolist(), second.behaviour_probabilities.tolist()) == ([1, 0], mu.tolist())
    assert (second.times.tolist(), second.seed) == ([0, 0.1, 0.2], 7)


def test_an_environment_that_a_notebook_registers_again_is_the_newer_one(tmp_path: Path) -> None:
    for first in (0, -1):
        with registered(Odd, actions=spaces.Discrete(3, start=first)) as id:
            qwop.write_episode(tmp_path / str(first), np.zeros((3, 3)), [0, 1], environment=id)
    assert [open_dataset(tmp_path / name)[0].actions.tolist() for name in ("0", "-1")] == [[0, 1], [1, 2]]


def test_discrete_observations_are_whole_numbers(tmp_path: Path) -> None:
    qwop.write_episode(tmp_path, [0, 4, 8], [1, 1], environment="FrozenLake-v1")
    assert open_dataset(tmp_path)[0].observations.argmax(1).tolist() == [0, 4, 8]
    qwop.write_episode(tmp_path, np.eye(16)[[0, 4, 8]], [1, 1])  # as the dataset has them
    assert open_dataset(tmp_path)[1].observations.argmax(1).tolist() == [0, 4, 8]


SEVERAL = spaces.Dict(
    {
        "a": spaces.Dict({"x": spaces.Box(-1, 1, (2,), np.float32), "n": spaces.Discrete(4, start=-2)}),
        "b": spaces.Tuple((spaces.MultiBinary(2),)),
        "said": spaces.Text(5),
    }
)
PICTURE = spaces.Dict({"image": spaces.Box(0, 255, (40, 36, 3), np.uint8), "said": spaces.Text(5)})


@pytest.fixture
def parts(request: pytest.FixtureRequest) -> Iterator[str]:
    """An environment whose actions have several parts, some of them within others, and whose observations are these."""
    actions = spaces.Tuple((spaces.Dict({"k": spaces.Discrete(2, start=3)}), spaces.MultiBinary(2)))
    see = lambda count: request.param.sample()  # noqa: E731
    with registered(Odd, actions=actions, observations=request.param, see=see) as id:
        yield id


@pytest.mark.parametrize("parts", [SEVERAL, PICTURE], indirect=True, ids=["several", "picture"])
def test_lists_of_what_the_environment_gives_and_takes_are_an_episode(tmp_path: Path, parts: str) -> None:
    seen_here, plain = gymnasium.make(parts), EnvironmentSpec(parts).make()
    observations: list[Any] = [seen_here.reset()[0]]
    seen_here.action_space.seed(0)
    actions = [seen_here.action_space.sample() for _ in range(3)]
    observations += [seen_here.step(action)[0] for action in actions]
    qwop.write_episode(tmp_path, observations, actions, environment=parts, terminated=True)
    found = open_dataset(tmp_path)[0]
    assert found.observations.shape == (4, *plain.observation_space.shape)  # as a policy sees it
    if "image" in observations[0]:
        np.testing.assert_array_equal(found.observations[2], observations[2]["image"])
    else:
        assert found.observations[2][-4:-2].tolist() == observations[2]["a"]["x"].tolist()
        assert found.observations[2][-2:].tolist() == observations[2]["b"][0].tolist()
    assert found.actions.tolist() == [numbers_of(seen_here.action_space)[form_of(action)] for action in actions]


@pytest.mark.parametrize("parts", [SEVERAL], indirect=True)
def test_parts_may_be_columns_and_actions_numbers_side_by_side(tmp_path: Path, parts: str) -> None:
    within = {"x": np.full((4, 2), 0.5), "n": np.array([-2, -1, 0, 1])}
    seen = {"a": within, "b": (np.zeros((4, 2), np.int8),)}
    taken = np.array([[3, 0, 1], [4, 1, 0], [4, 1, 1]])
    qwop.write_episode(tmp_path, seen, taken, environment=parts)
    columns = ({"k": taken[:, 0]}, taken[:, 1:])
    qwop.write_episode(tmp_path, seen, columns, environment=parts)
    first, second = open_dataset(tmp_path)
    assert first.actions.tolist() == second.actions.tolist() == [2, 5, 7]
    assert first.observations[0].tolist() == [1, 0, 0, 0, 0.5, 0.5, 0, 0]
    for wrong, said in (
        (taken[:, :2], r"actions of row 0 are \[3, 0\], expected what .* such as \[\{'k': 3\}, \[0, 0\]\]"),
        (taken + 0.5, r"actions of row 0 are \[3.5, 0.5, 1.5\]"),
        ([*"abc"], "actions of row 0 are a"),
        (7, "actions hold 7, expected rows"),
        (({"k": taken[:, 0]}, taken[:2, 1:]), "columns of different lengths"),
    ):
        with pytest.raises(BadInput, match=said):
            qwop.write_episode(tmp_path, seen, wrong, environment=parts)
    for wrong, said in (
        ({**seen, "a": {"x": within["x"]}}, r"observations of row 0 are \{'a': \{'x': "),
        ({**seen, "a": {**within, "n": np.full(4, 9)}}, r"observations of row 0 are \{.*'n': 9"),
        ([[1, 2], [3]], "lists of different lengths"),
    ):
        with pytest.raises(BadInput, match=said):
            qwop.write_episode(tmp_path, wrong, taken, environment=parts)


LAKE = {"environment": "FrozenLake-v1"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"actions": [0, 2]}, r"actions of row 1 are 2, expected what Discrete\(2\) has"),
        ({"actions": [0.5, 1]}, "actions of row 0 are 0.5"),
        ({"observations": np.zeros((3, 5))}, r"observations have shape \[5\], expected float32 \[4\]"),
        ({"observations": np.zeros((5, 4))}, "observations have 5 rows, expected 3"),
        ({"observations": [], **LAKE}, r"observations are float64 \[0\], expected numbers"),
        ({"observations": np.full((3, 4), np.nan)}, "not finite"),
        ({"observations": np.full((3, 4), 2**24 + 1)}, r"observations\[0, 0\] is 16777217"),
        ({"observations": [[2**24 + 1, 0.5, 0, 0]] * 3}, r"observations\[0, 0\] is 16777217"),
        ({"observations": [0, 0.5, 8], **LAKE}, r"of row 1 are 0\.5, expected what Discrete\(16\) has"),
        ({"observations": np.eye(16)[[0, 4, 8]] / 2, **LAKE}, r"other numbers than 0 and 1, expected what Discrete\("),
        ({"rewards": [1.0]}, r"rewards are float64 \[1\], expected numbers \[2\]"),
        ({"terminated": [True, False]}, "terminated is true after decision 1, but the episode goes on to 2"),
        ({"environment": None}, "environment is not given"),
        ({"environment": gymnasium.make("CartPole-v1")}, "environment is a TimeLimit, expected an id"),
        ({"terminated": "False"}, "terminated is False, expected true or false"),
        ({"truncated": [0, 2]}, r"truncated is \[0, 2\], expected true or false"),
        ({"behaviour_probabilities": [[0.5, 0.4], [0.5, 0.5]]}, r"of row 0 sum to 0\.900000, expected 1"),
        ({"behaviour_probabilities": [0.5, 0.5]}, r"behaviour_probabilities have shape \(2,\), expected \[T, A\]"),
        ({"times": ["0", "a", "2"]}, r"times are \[0, a, 2\], expected numbers"),
        ({"times": [0, [1], 2]}, r"times are \[0, \[1\], 2\], expected numbers"),
        ({"player": "\ud800"}, r"player is .*, expected text"),
    ],
    ids=range(21),
)
def test_what_does_not_fit_is_named(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    whole: dict[str, Any] = {"observations": np.zeros((3, 4)), "actions": [0, 1], "environment": "CartPole-v1"}
    with pytest.raises(BadInput, match=said):
        qwop.write_episode(tmp_path / "new", **whole | given)
    assert not (tmp_path / "new").exists()
