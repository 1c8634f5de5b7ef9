"""Live play, in an environment that counts its steps so that every number can be checked."""

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.finetune.experience.collector import Collector
from qwop.policies.state import ArrayState

from ..runs import assert_same


class Counting(gymnasium.Env[NDArray[Any], int]):
    """Observes (episode, step), as numbers or as an image of 2 pixels.

    An episode lasts `length` steps and ends as `ending` says; a reward is the action.
    """

    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, length: int, ending: str, image: bool = False) -> None:
        self.length, self.ending, self.episode, self.count = length, ending, -1, 0
        numbers = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.observation_space = gymnasium.spaces.Box(0, 255, (1, 2, 1), np.uint8) if image else numbers

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1 if seed is None else 0, 0
        return self.seen(), {}

    def step(self, action: int) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        self.count += 1
        over = self.count == self.length
        info = {"distance": 10.0 * self.episode, "time": 1.5, "outcome": "finished" if over else "running"}
        info["clock"] = self.count / 10
        return self.seen(), float(action), over and self.ending == "end", over and self.ending == "limit", info

    def seen(self) -> NDArray[Any]:
        space = self.observation_space
        return np.array([self.episode, self.count]).reshape(space.shape or ()).astype(space.dtype)


class Saving(SyncVectorEnv):
    """Saves its games, which are plain objects."""

    def get_state(self) -> dict[str, Any]:
        return {"games": copy.deepcopy(self.envs)}

    def set_state(self, state: dict[str, Any]) -> NDArray[Any]:
        self.envs = copy.deepcopy(state["games"])
        return np.stack([env.unwrapped.seen() for env in self.envs])  # type: ignore[attr-defined]


class Memoryless:
    """Prefers the action that is the step modulo 3, and says so."""

    def initial_state(self, n: int) -> ArrayState:
        return ()

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        preferred = observations.reshape(len(observations), -1)[:, 1].astype(int) % 3
        return (0.1 + 0.7 * np.eye(3)[preferred]).astype(np.float32), state

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        return state


class Remembering:
    """Counts the decisions of each game in a state of its own, and prefers the action that is their number modulo 3."""

    def __init__(self) -> None:
        self.states: list[NDArray[np.int64]] = []
        self.fed: list[tuple[NDArray[Any], ...]] = []

    def initial_state(self, n: int) -> ArrayState:
        return (np.zeros((n, 1), dtype=np.int64),)

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        (counts,) = state
        self.states.append(counts[:, 0].copy())
        return (0.1 + 0.7 * np.eye(3)[counts[:, 0] % 3]).astype(np.float32), (counts + 1,)

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        self.fed.append((state[0][:, 0].copy(), actions.copy(), rewards.copy()))
        return state


def vector(*games: Counting, kind: type[SyncVectorEnv] = SyncVectorEnv) -> SyncVectorEnv:
    return kind([lambda game=game: game for game in games], autoreset_mode=AutoresetMode.SAME_STEP)  # type: ignore[misc]


def make(kind: type[SyncVectorEnv] = SyncVectorEnv, image: bool = False, seed: int = 0) -> Collector:
    games = Counting(4, "end", image), Counting(3, "limit", image), Counting(100, "end", image)
    return Collector(vector(*games, kind=kind), 5, np.random.default_rng(seed))


POLICY = Memoryless()


def test_sequences_follow_each_other_and_episodes_each_other() -> None:
    collector = make()
    first, _ = collector.collect(POLICY)
    second, _ = collector.collect(POLICY)
    first.check_valid()
    steps = np.concatenate([first.observations[:, :-1, 1], second.observations[:, :-1, 1]], axis=1)
    assert steps.tolist() == [
        [0, 1, 2, 3, 0, 1, 2, 3, 0, 1],
        [0, 1, 2, 0, 1, 2, 0, 1, 2, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    ]
    assert np.array_equal(first.observations[:, -1], second.observations[:, 0])


def test_ends_and_limits_are_told_apart_and_limits_keep_their_final_observation() -> None:
    sequences, _ = make().collect(POLICY)
    assert np.argwhere(sequences.terminated).tolist() == [[0, 3]]
    assert np.argwhere(sequences.truncated).tolist() == [[1, 2]]
    assert (sequences.finals.sequence.tolist(), sequences.finals.step.tolist()) == ([1], [2])
    assert sequences.finals.observations.tolist() == [[0, 3]]


def test_behaviour_probabilities_are_what_the_actions_were_drawn_with() -> None:
    collector = make()
    drawn = [collector.collect(POLICY)[0] for _ in range(200)]
    for one in drawn[:3]:
        flat = one.observations[:, :-1].reshape(-1, 2)
        assert np.array_equal(one.behaviour_probabilities.reshape(-1, 3), POLICY.step(flat, ())[0])
    preferred = np.concatenate([(one.actions == one.observations[:, :-1, 1] % 3).ravel() for one in drawn])
    assert preferred.mean() == pytest.approx(0.8, abs=0.03)
    assert np.array_equal(drawn[0].rewards, drawn[0].actions)


def test_episodes_that_end_are_reported_with_their_return() -> None:
    collector = make()
    sequences, ends = collector.collect(POLICY)
    limited, ended = ends
    assert (limited.decisions, ended.decisions) == (3, 4)
    assert ended.total_reward == sequences.rewards[0, :4].sum()
    assert (ended.metres, ended.seconds, ended.finished) == (0.0, 1.5, True)
    assert (limited.frames, ended.frames) == (9, 12)
    second, later = collector.collect(POLICY)
    whole = sequences.rewards[0, 4] + second.rewards[0, :3].sum()
    assert next(end for end in later if end.decisions == 4).total_reward == whole


def test_a_policys_state_follows_each_game_and_begins_anew_with_the_next() -> None:
    collector, policy = make(), Remembering()
    first, _ = collector.collect(policy)
    second, _ = collector.collect(policy)
    seen = np.stack(policy.states, axis=1)
    steps = np.concatenate([first.observations[:, :-1, 1], second.observations[:, :-1, 1]], axis=1)
    assert np.array_equal(seen, steps)
    assert np.array_equal(first.behaviour_probabilities.argmax(-1), seen[:, :5] % 3)
    for played in (first, second):  # recurrent networks are unrolled again from there
        assert np.array_equal(played.state[0][:, 0], played.observations[:, 0, 1])


def test_a_policy_is_fed_each_action_and_its_reward_before_the_next_game_begins() -> None:
    collector, policy = make(), Remembering()
    played, _ = collector.collect(policy)
    after, actions, rewards = (np.stack(parts, axis=1) for parts in zip(*policy.fed, strict=True))
    assert np.array_equal(after, played.observations[:, :-1, 1] + 1)
    assert np.array_equal(actions, played.actions)
    assert np.array_equal(rewards, played.rewards)


@pytest.mark.parametrize("policy", [Memoryless(), Remembering()])
@pytest.mark.parametrize("image", [False, True])
def test_saved_games_go_on_where_they_were(policy: Memoryless | Remembering, image: bool) -> None:
    one, other = make(Saving, image), make(Saving, image, seed=7)
    assert one.saves_games()
    one.collect(policy)
    state = one.get_state()
    other.collect(policy)
    other.set_state(state)
    for _ in range(3):
        (mine, my_ends), (others, other_ends) = one.collect(policy), other.collect(policy)
        assert np.array_equal(mine.observations, others.observations)
        assert np.array_equal(mine.actions, others.actions)
        assert np.array_equal(mine.behaviour_probabilities, others.behaviour_probabilities)
        assert my_ends == other_ends


def test_taking_the_state_changes_nothing() -> None:
    asked, left = make(Saving), make(Saving)
    for _ in range(3):
        asked.get_state()
        one, other = asked.collect(Remembering())[0], left.collect(Remembering())[0]
        assert np.array_equal(one.observations, other.observations)
        assert np.array_equal(one.actions, other.actions)
    state = asked.get_state()
    kept = copy.deepcopy(state)
    asked.collect(Remembering())
    assert np.array_equal(state["observations"], kept["observations"])
    assert np.array_equal(state["policy"][0], kept["policy"][0])


@pytest.mark.parametrize("policy", [POLICY, Remembering()])
def test_games_that_cannot_be_saved_are_played_again(policy: Memoryless | Remembering) -> None:
    collector = make()
    assert not collector.saves_games()
    for before in range(3):
        state = collector.get_state()
        goes_on, ends = collector.collect(policy)
        again = make(seed=before + 1)
        again.set_state(state)
        assert_same(again.get_state(), state)
        played, their_ends = again.collect(policy)
        assert np.array_equal(goes_on.actions, played.actions)
        assert np.array_equal(goes_on.observations, played.observations)
        assert ends == their_ends


def test_games_that_do_not_come_out_the_same_are_refused() -> None:
    collector = make()
    collector.collect(POLICY)
    state = collector.get_state()
    state["observations"] = state["observations"] + 1
    with pytest.raises(BadInput, match="do not come out the same"):
        make().set_state(state)


def test_a_restart_begins_new_games_and_forgets_the_policys_state() -> None:
    collector, policy = make(Saving), Remembering()
    collector.collect(policy)
    collector.restart()
    sequences, ends = collector.collect(policy)
    assert sequences.observations[:, 0, 1].tolist() == [0, 0, 0]
    assert policy.states[5].tolist() == [0, 0, 0]
    assert {end.decisions for end in ends} == {3, 4}  # not 1 + 4, counted from before


def test_another_environment_starts_new_games_in_it() -> None:
    collector = make()
    collector.collect(POLICY)
    collector.enter(vector(*(Counting(2, "end") for _ in range(3))))
    sequences, ends = collector.collect(POLICY)
    assert sequences.observations[:, :-1, 1].tolist() == [[0, 1, 0, 1, 0]] * 3
    assert {end.decisions for end in ends} == {2}


def test_images_stay_bytes() -> None:
    collector = make(image=True)
    sequences, _ = collector.collect(POLICY)
    sequences.check_valid()
    assert sequences.observations.dtype == np.uint8
    assert sequences.observations.shape == (3, 6, 1, 2, 1)
    assert sequences.finals.observations.dtype == np.uint8
    assert sequences.finals.observations.ravel().tolist() == [0, 3]
    nothing_ended, _ = make(image=True).collect(POLICY)
    assert nothing_ended.finals.observations.shape[1:] == (1, 2, 1)


class Marked(Saving):
    """Three games: one begun from a saved state, one that goes on after its ends, and a whole one."""

    def step(self, actions: Any) -> Any:
        *played, infos = super().step(actions)
        marks = {"restarted": np.array([True, False, False]), "game_goes_on": np.array([False, True, False])}
        return (*played, {**infos, **marks})


def test_only_whole_games_are_reported_as_episodes() -> None:
    env: Any = Marked([lambda: Counting(3, "end")] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    collector = Collector(env, 7, np.random.default_rng(0))
    sequences, ends = collector.collect(Memoryless())
    assert sequences.terminated.sum() == 6
    assert [end.decisions for end in ends] == [3, 3]
    assert [end.total_reward for end in ends] == [sequences.rewards[2, :3].sum(), sequences.rewards[2, 3:6].sum()]
    assert collector.get_state()["lengths"].tolist() == [1, 7, 1]
