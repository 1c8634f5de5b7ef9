"""One record of an environment, the limit of its games, and the checks of many of another package's at once."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.common.errors import BadInput
from qwop.envs.spec import LONGEST, Environment, EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector, played_values
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import play

from .conftest import Make
from .odd import Odd

MADE: list[str] = []


PAIR, BITS = spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.MultiBinary(2)


class Counted(Odd):
    """Notes how often it was made; its only array of observations, or its rewards, may be wrong in a decision."""

    def __init__(self, wrong: int = -1, pays: bool = False) -> None:
        MADE.append("Counted")
        self.row, self.wrong, self.pays = np.zeros(2, np.float32), wrong, pays
        pay = lambda count: float("inf") if pays and count == wrong else 1.0  # noqa: E731
        super().__init__(BITS, PAIR, self.see_row, pay, end=lambda over: False)

    def see_row(self, count: int) -> Any:
        self.row[:] = count, self.taken[-1][0] if count else 0
        if count == self.wrong and not self.pays:
            self.row[1] = np.nan
        return self.row


@pytest.fixture
def counted() -> Iterator[Make]:
    def make(limit: int | None = 4, **settings: Any) -> EnvironmentSpec:
        gymnasium.registry.pop("Counted-v2", None)
        gymnasium.register("Counted-v2", Counted, max_episode_steps=limit, reward_threshold=3.5)
        return EnvironmentSpec("Counted-v2", settings)

    yield make
    gymnasium.registry.pop("Counted-v2", None)


def test_an_environment_is_made_once_to_be_known(counted: Make) -> None:
    spec = counted()
    MADE.clear()
    opened = Environment.open("Counted-v2")
    assert MADE == ["Counted"]
    assert (opened.spec, opened.observation, opened.actions) == (spec, ObservationSpec((2,)), 4)
    assert opened.action_names == ("[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]")
    assert (opened.own_observations, opened.own_actions) == (PAIR, BITS)
    assert (opened.reward_threshold, opened.longest_episode, opened.default_limit) == (3.5, 4, None)
    assert spec.open() is opened
    assert spec.interface() == (ObservationSpec((2,)), 4)
    assert MADE == ["Counted"]
    assert opened.make().reset()[0].tolist() == [0, 0]
    assert MADE == ["Counted"] * 2


def test_another_class_under_the_same_id_is_another_environment(counted: Make) -> None:
    assert counted().open().default_limit is None
    assert counted(limit=None).open().default_limit == 5_000


def test_an_environment_that_is_not_there_cannot_be_opened() -> None:
    with pytest.raises(BadInput, match="environment Unheard-v0: "):
        Environment.open("Unheard-v0")


@pytest.mark.parametrize(
    ("limit", "settings"), [(4, {}), (None, {"max_episode_steps": 4}), (9, {"max_episode_steps": 4})]
)
def test_games_are_truncated_as_gymnasium_does(counted: Make, limit: Any, settings: dict[str, int]) -> None:
    spec = counted(limit, **settings)
    mine, theirs = spec.make(), gymnasium.make(spec.id, **settings)
    for env, action in ((mine, 0), (theirs, np.zeros(2, np.int8)), (mine, 0)):
        env.reset()
        ends = [env.step(action)[2:4] for _ in range(4)]
        assert ends == [(False, False)] * 3 + [(False, True)]
    with pytest.raises(BadInput, match="max_episode_steps"):
        counted(4, max_episode_steps="many").make()


def test_a_step_needs_a_reset_before(counted: Make) -> None:
    env = counted().make()
    with pytest.raises(gymnasium.error.ResetNeeded, match="no game has begun"):
        env.step(0)
    env.reset()
    assert env.step(3)[0].tolist() == [1, 1]


@pytest.mark.parametrize("action", [-1, 4, 1.0, True, "1", None])
def test_an_action_that_is_none_is_refused(counted: Make, action: Any) -> None:
    env = counted().make()
    env.reset()
    with pytest.raises(gymnasium.error.InvalidAction, match=r"expected a whole number, 0 \.\.\. 3"):
        env.step(action)


@pytest.mark.parametrize("wrong", [1, 3, 4])  # in the fourth decision, the game ends
@pytest.mark.parametrize(("pays", "said"), [(False, r"observation\[1\] is nan"), (True, "reward is inf")])
def test_numbers_of_many_games_are_looked_at_as_those_of_one(counted: Make, wrong: int, pays: bool, said: str) -> None:
    spec = counted(wrong=wrong, pays=pays)
    games, one = make_vector(spec, 3), spec.make()
    games.reset(seed=0)
    one.reset(seed=0)
    for _ in range(wrong - 1):
        games.step(np.array([0, 1, 2]))
        one.step(0)
    for step in (lambda: games.step(np.array([0, 1, 2])), lambda: one.step(0)):
        with pytest.raises(BadInput, match=rf"Counted-v2.*: after decision {wrong} of a game, its {said}"):
            step()


def test_many_games_are_those_of_gymnasiums_loop() -> None:
    actions = np.random.default_rng(0).integers(0, 2, (300, 3))
    mine = make_vector(EnvironmentSpec("CartPole-v1"), 3)
    theirs = gymnasium.make_vec(
        "CartPole-v1", 3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": "SameStep"}
    )
    np.testing.assert_array_equal(mine.reset(seed=5)[0], theirs.reset(seed=5)[0])
    ended = 0
    for chosen in actions:
        played, wanted = mine.step(chosen), theirs.step(chosen)
        for its, value in zip(played[:4], wanted[:4], strict=True):
            np.testing.assert_array_equal(its, value)
            assert its.dtype == value.dtype
        assert {*played[4]} == {*wanted[4]}
        for row in np.flatnonzero(wanted[4].get("_final_obs", [])):
            np.testing.assert_array_equal(played[4]["final_obs"][row], wanted[4]["final_obs"][row])
            ended += 1
        kept = played[0].copy()
        mask = np.array([True, False, False])
        if ended == 5:
            seen = [env.reset(seed=9, options={"reset_mask": mask.copy()})[0] for env in (mine, theirs)]
            np.testing.assert_array_equal(*seen)
            ended += 1
        np.testing.assert_array_equal(played[0], kept)  # nothing writes into what was given before
    assert ended > 10


@pytest.fixture
def endless(odd: Make) -> EnvironmentSpec:
    return odd(end=lambda over: False)


def played(spec: EnvironmentSpec) -> int:
    policy = Policy(ActorCritic(3, 2, (4,), torch.Generator().manual_seed(0)), spec, ObservationSpec((3,)))
    (game,) = play(policy, episodes=1, seed=0, greedy=True, num_envs=1, keep_observations=False)
    assert game.truncated
    assert not game.terminated
    return len(game.actions)


def test_games_without_an_end_are_truncated(endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    assert endless.default_limit == LONGEST
    (note,) = endless.limit_note
    assert note.startswith("Odd-v0 sets no limit of decisions, so its games are truncated after 5,000")
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    assert played(endless) == 30


def test_a_setting_changes_the_limit(endless: EnvironmentSpec) -> None:
    spec = EnvironmentSpec(endless.id, {"max_episode_steps": 7})
    assert spec.limit_note == []
    assert played(spec) == 7


@pytest.mark.parametrize("id", ["Odd-v0", "CartPole-v1"])
def test_games_end_where_a_setting_takes_the_limit_away(
    endless: EnvironmentSpec, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    spec = EnvironmentSpec(id, {"max_episode_steps": -1})
    assert spec.default_limit == 30
    assert id == "CartPole-v1" or played(spec) == 30
    assert EnvironmentSpec("CartPole-v1", {"max_episode_steps": None}).default_limit is None


def test_an_id_without_a_version_has_a_limit_too(endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    spec = EnvironmentSpec("Odd")
    assert spec.default_limit == 30
    assert played(spec) == 30


def test_a_vector_form_that_is_not_played_sets_no_limit(
    endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    monkeypatch.setattr(gymnasium.registry[endless.id], "vector_entry_point", vector)
    assert endless.default_limit == 30
    assert played(endless) == 30


@pytest.mark.parametrize("name", ["CartPole-v1", "CartPole", "QWOP-v1", "QWOP", "ALE/Pong-v5", "Unknown-v0", "Unknown"])
def test_environments_with_a_limit_keep_theirs(name: str) -> None:
    assert EnvironmentSpec(name).limit_note == []


class Counting(Odd):
    """Ends after `length` steps; its info counts them."""

    def __init__(self, length: int) -> None:
        super().__init__(tell=lambda count: {"count": count, "name": f"step {count}"})
        self.length = length

    def step(self, action: Any) -> tuple[Any, Any, Any, bool, Any]:
        seen, pay, _, cut, info = super().step(action)
        return seen, pay, len(self.taken) == self.length, cut, info


def counting(*lengths: int) -> SyncVectorEnv:
    return SyncVectorEnv([lambda one=one: Counting(one) for one in lengths], autoreset_mode=AutoresetMode.SAME_STEP)


def test_played_values_are_those_of_the_step_in_games_that_began_again_too() -> None:
    env = counting(1, 3, 5)
    env.reset(seed=0)
    for step in range(1, 7):
        *_, infos = env.step(np.zeros(3, dtype=np.int64))
        np.testing.assert_array_equal(played_values(infos, "count"), [1, (step - 1) % 3 + 1, (step - 1) % 5 + 1])
        assert played_values(infos, "metres") is None
    everyone = counting(1)
    everyone.reset(seed=0)
    np.testing.assert_array_equal(played_values(everyone.step(np.zeros(1, np.int64))[4], "count"), [1])


def test_an_environment_with_a_vector_form_alone_is_refused_with_what_it_lacks() -> None:
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    gymnasium.register("Many-v0", vector_entry_point=vector)
    try:
        with pytest.raises(BadInput, match=r"Many-v0: it is registered with a vector form alone, .* \(entry_point of"):
            make_vector(EnvironmentSpec("Many-v0"), 2)
    finally:
        del gymnasium.registry["Many-v0"]


def test_spaces_that_change_from_one_instance_to_the_next_are_told_in_one_line(odd: Make) -> None:
    sizes = iter(range(1, 9))
    spec = odd(lambda: Odd(observations=gymnasium.spaces.Box(0, 1, (next(sizes),))))
    with pytest.raises(BadInput, match=r"environment Odd-v0\(\): cannot be made .*spaces are not equivalent"):
        make_vector(spec, 2)


@pytest.mark.parametrize(
    ("id", "settings", "count", "said"),
    [
        ("NoSuchGame-v1", {}, 2, "NoSuchGame"),
        ("CartPole-v1", {"frames_per_step": 3}, 2, "CartPole-v1: no setting frames_per_step"),
        ("CartPole-v1", {"id": "QWOP-v1"}, 2, "CartPole-v1: no setting id; leave it out"),
        ("QWOP-v1", {"speed": 3}, 2, "QWOP-v1: speed: no such setting"),
        ("CartPole-v1", {}, 0, "num_envs=0"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(id: str, settings: dict[str, Any], count: int, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make_vector(EnvironmentSpec(id, settings), count)
