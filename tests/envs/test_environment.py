"""One record of an environment, and the limit of its games."""

from collections.abc import Iterator
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
from qwop.envs.vector import make_vector, played_values
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import play

from ..fakes import Odd
from .conftest import Make

PAIR, BITS = spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.MultiBinary(2)


class Counted(Odd):
    """Notes how often it was made; changes its only array of observations, which may be wrong in a decision, as may
    its rewards."""

    made = 0

    def __init__(self, wrong: int = -1, pays: bool = False) -> None:
        type(self).made += 1
        self.row, self.wrong, self.pays = np.zeros(2, np.float32), wrong, pays
        pay = lambda count: float("inf") if pays and count == wrong else 1.0  # noqa: E731
        super().__init__(BITS, PAIR, self.see_row, pay, length=-1)

    def see_row(self, count: int) -> Any:
        self.row[:] = count, self.taken[-1][0] if count else 0
        if count == self.wrong and not self.pays:
            self.row[1] = np.nan
        return self.row


@pytest.fixture
def counted() -> Iterator[Make]:
    def make(limit: int | None = 4, **settings: Any) -> EnvironmentSpec:
        gymnasium.registry.pop("Counted-v2", None)
        gymnasium.register("Counted-v2", Counted, max_episode_steps=limit)
        return EnvironmentSpec("Counted-v2", settings)

    yield make
    gymnasium.registry.pop("Counted-v2", None)


def test_an_environment_is_made_once_to_be_known(counted: Make) -> None:
    spec, before = counted(), Counted.made
    assert spec.spaces == (ObservationSpec((2,)), 4, ("[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]"), PAIR, BITS)
    assert (spec.longest_episode, spec.default_limit) == (4, None)
    assert EnvironmentSpec("Counted-v2").interface() == (ObservationSpec((2,)), 4)
    assert Counted.made == before + 1
    assert spec.make().reset()[0].tolist() == [0, 0]
    assert counted(limit=None).default_limit == 5_000
    before = Counted.made
    counted().interface()  # another class under the same id
    assert Counted.made == before + 1
    lake = EnvironmentSpec("FrozenLake-v1").spaces
    assert (lake.own_observations, lake.observation) == (spaces.Discrete(16), ObservationSpec((16,)))


def test_games_are_truncated_as_gymnasium_does(counted: Make) -> None:
    for limit, settings in ((4, {}), (None, {"max_episode_steps": 4}), (9, {"max_episode_steps": 4})):
        spec = counted(limit, **settings)
        mine, theirs = spec.make(), gymnasium.make(spec.id, **settings)  # type: ignore[var-annotated, arg-type]
        for env, action in ((mine, 0), (theirs, np.zeros(2, np.int8)), (mine, 0)):
            env.reset()
            assert [env.step(action)[2:4] for _ in range(4)] == [(False, False)] * 3 + [(False, True)]
    with pytest.raises(BadInput, match="max_episode_steps"):
        counted(4, max_episode_steps="many").make()


def test_a_step_needs_a_reset_before_and_an_action(counted: Make) -> None:
    env = counted().make()
    with pytest.raises(ResetNeeded, match="no game has begun"):
        env.step(0)
    env.reset()
    for wrong in (-1, 4, 1.0, True, "1", None):
        with pytest.raises(InvalidAction, match=r"expected a whole number, 0 \.\.\. 3"):
            env.step(wrong)
    assert env.step(3)[0].tolist() == [1, 1]


@pytest.mark.parametrize("wrong", [1, 3, 4])  # in the fourth decision, the game ends
@pytest.mark.parametrize(("pays", "complaint"), [(False, r"observation\[1\] is nan"), (True, "reward is inf")])
def test_numbers_of_many_games_are_looked_at_as_those_of_one(
    counted: Make, wrong: int, pays: bool, complaint: str
) -> None:
    spec = counted(wrong=wrong, pays=pays)
    for env, action in ((make_vector(spec, 3), np.array([0, 1, 2])), (spec.make(), 0)):
        env.reset(seed=0)
        for _ in range(wrong - 1):
            env.step(action)
        with pytest.raises(BadInput, match=rf"Counted-v2.*: after decision {wrong} of a game, its {complaint}"):
            env.step(action)


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
            np.testing.assert_array_equal(played_values(infos, "count"), counts)
            assert played_values(infos, "metres") is None


def test_spaces_that_change_from_one_instance_to_the_next_are_one_line(odd: Make) -> None:
    sizes = iter(range(1, 9))
    spec = odd(lambda: Odd(observations=spaces.Box(0, 1, (next(sizes),))))
    with pytest.raises(BadInput, match=r"environment Odd-v0\(\): cannot be made .*spaces are not equivalent"):
        make_vector(spec, 2)


@pytest.mark.parametrize(
    ("id", "settings", "complaint"),
    [
        ("NoSuchGame-v1", {}, "environment NoSuchGame-v1: "),
        ("CartPole-v1", {"frames_per_step": 3}, "CartPole-v1: no setting frames_per_step"),
        ("CartPole-v1", {"id": "QWOP-v1"}, "CartPole-v1: no setting id; leave it out"),
        ("FrozenLake-v1", {"map_name": "9x9"}, r"FrozenLake-v1\(map_name=9x9\): cannot be made \(KeyError: '9x9'\)"),
        ("QWOP-v1", {"speed": 3}, "QWOP-v1: speed: no such setting"),
        ("Many-v0", {}, r"Many-v0: it is registered with a vector form alone, .* \(entry_point of"),
    ],
)
def test_what_cannot_be_made_is_one_line(id: str, settings: dict[str, Any], complaint: str) -> None:
    gymnasium.register("Many-v0", vector_entry_point="gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv")
    try:
        for make in (EnvironmentSpec.interface, lambda spec: make_vector(spec, 2)):
            if id != "Many-v0" or make is not EnvironmentSpec.interface:
                with pytest.raises(BadInput, match=complaint):
                    make(EnvironmentSpec(id, settings))
    finally:
        del gymnasium.registry["Many-v0"]
