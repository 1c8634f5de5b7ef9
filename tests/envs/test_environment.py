"""One record of an environment, and the limit of its games."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.common.errors import BadInput
from qwop.envs.spec import LONGEST, EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector, values_of_step
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import play

from ..fakes import ROW, Odd
from .conftest import Make

BITS = spaces.MultiBinary(2)


class Counted(Odd):
    """Notes how often it was made."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        super().__init__(BITS)


def test_an_environment_is_made_once_to_be_known(odd: Make) -> None:
    spec, before = odd(Counted, limit=4), Counted.made
    assert spec.spaces == (ObservationSpec((3,)), 4, ("[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]"), ROW, BITS)
    assert (spec.longest_episode, spec.default_limit) == (4, None)
    assert EnvironmentSpec(spec.id).interface() == (ObservationSpec((3,)), 4)
    assert Counted.made == before + 1
    odd(Counted).interface()  # another class under the same id
    assert Counted.made == before + 2
    lake = EnvironmentSpec("FrozenLake-v1").spaces
    assert (lake.own_observations, lake.observation) == (spaces.Discrete(16), ObservationSpec((16,)))


def test_games_are_truncated_as_gymnasium_does(odd: Make) -> None:
    for limit, settings in ((4, {}), (None, {"max_episode_steps": 4}), (9, {"max_episode_steps": 4})):
        spec = EnvironmentSpec(odd(limit=limit, length=-1).id, settings)
        mine, theirs = spec.make(), gymnasium.make(spec.id, **settings)  # type: ignore[var-annotated, arg-type]
        for env in (mine, theirs, mine):
            env.reset()
            assert [env.step(0)[2:4] for _ in range(4)] == [(False, False)] * 3 + [(False, True)]
    with pytest.raises(BadInput, match="max_episode_steps"):
        EnvironmentSpec("Odd-v0", {"max_episode_steps": "many"}).make()


def test_a_step_needs_a_reset_before_and_an_action(odd: Make) -> None:
    env = odd(actions=BITS).make()
    with pytest.raises(ResetNeeded, match="no game has begun"):
        env.step(0)
    env.reset()
    for wrong in (-1, 4, 1.0, True, "1", None):
        with pytest.raises(InvalidAction, match=r"expected a whole number, 0 \.\.\. 3"):
            env.step(wrong)


@pytest.fixture
def endless(odd: Make, monkeypatch: pytest.MonkeyPatch) -> EnvironmentSpec:
    spec = odd(length=-1)
    assert (spec.default_limit, LONGEST) == (5_000, 5_000)
    (note,) = spec.limit_note
    assert note.startswith("Odd-v0 sets no limit of decisions, so its games are truncated after 5,000")
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    return spec


def length(spec: EnvironmentSpec) -> int:
    """Decisions of a game that ends by its limit."""
    policy = Policy(ActorCritic(3, 2, (4,), torch.Generator().manual_seed(0)), spec, ObservationSpec((3,)))
    (game,) = play(policy, episodes=1, seed=0, greedy=True, num_envs=1, keep_observations=False)
    assert (game.terminated, game.truncated) == (False, True)
    return len(game.actions)


@pytest.mark.parametrize(
    ("id", "settings", "limit"),
    [
        ("Odd-v0", {}, 30), ("Odd", {}, 30), ("Odd-v0", {"max_episode_steps": -1}, 30),
        ("Odd-v0", {"max_episode_steps": 7}, None), ("CartPole-v1", {"max_episode_steps": -1}, 30),
        ("CartPole-v1", {"max_episode_steps": None}, None), ("CartPole-v1", {}, None), ("CartPole", {}, None),
        ("QWOP", {}, None), ("ALE/Pong-v5", {}, None), ("Unknown-v0", {}, None), ("Unknown", {}, None),
    ],
)  # fmt: skip
def test_games_without_an_end_are_truncated(
    endless: EnvironmentSpec, id: str, settings: dict[str, Any], limit: int | None
) -> None:
    spec = EnvironmentSpec(id, settings)
    assert spec.default_limit == limit
    assert bool(spec.limit_note) is (limit is not None)
    if id.startswith("Odd"):
        assert length(spec) == limit or settings["max_episode_steps"] == 7


def test_a_vector_form_that_is_not_played_sets_no_limit(
    endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    monkeypatch.setattr(gymnasium.registry[endless.id], "vector_entry_point", vector)
    assert (endless.default_limit, length(endless)) == (30, 30)


def test_played_values_are_those_of_the_step_in_games_that_began_again_too() -> None:
    tell = lambda count: {"count": count, "name": f"step {count}"}  # noqa: E731
    for lengths in ((1, 3, 5), (1,)):
        games = [lambda length=length: Odd(tell=tell, length=length) for length in lengths]
        env = SyncVectorEnv(games, autoreset_mode=AutoresetMode.SAME_STEP)
        env.reset(seed=0)
        for step in range(1, 7):
            *_, infos = env.step(np.zeros(len(lengths), np.int64))
            counts = [(step - 1) % length + 1 for length in lengths]
            np.testing.assert_array_equal(values_of_step(infos, "count"), counts)
            assert values_of_step(infos, "metres") is None


def test_spaces_that_change_from_one_instance_to_the_next_are_one_line(odd: Make) -> None:
    sizes = iter(range(1, 9))
    spec = odd(lambda: Odd(observations=spaces.Box(0, 1, (next(sizes),))))
    with pytest.raises(BadInput, match=r"environment Odd-v0\(\): cannot be made .*spaces are not equivalent"):
        make_vector(spec, 2)
