"""Live play, in an environment that counts its steps so that every number can be checked."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.finetune.experience.collector import Collector


class Counting(gymnasium.Env):
    """Observes (episode, step); an episode lasts `length` steps and ends as `ending` says; a reward is the action."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, length, ending):
        self.length, self.ending, self.episode, self.count = length, ending, -1, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1, 0
        return self.seen(), {}

    def step(self, action):
        self.count += 1
        over = self.count == self.length
        info = {"distance": 10.0 * self.episode, "time": 1.5, "outcome": "finished" if over else "running"}
        info["clock"] = self.count / 10
        return self.seen(), float(action), over and self.ending == "end", over and self.ending == "limit", info

    def seen(self):
        return np.array([self.episode, self.count], dtype=np.float32)


def policy(observations):
    """Prefers the action that is the step modulo 3, and says so."""
    preferred = observations[:, 1].astype(int) % 3
    return (0.1 + 0.7 * np.eye(3)[preferred]).astype(np.float32)


@pytest.fixture
def collector():
    env = SyncVectorEnv(
        [lambda: Counting(4, "end"), lambda: Counting(3, "limit"), lambda: Counting(100, "end")],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    return Collector(env, 5, np.random.default_rng(0))


def test_sequences_follow_each_other_and_episodes_each_other(collector):
    first, _ = collector.collect(policy)
    second, _ = collector.collect(policy)
    first.check_valid()
    steps = np.concatenate([first.observations[:, :-1, 1], second.observations[:, :-1, 1]], axis=1)
    assert steps.tolist() == [
        [0, 1, 2, 3, 0, 1, 2, 3, 0, 1],
        [0, 1, 2, 0, 1, 2, 0, 1, 2, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    ]
    assert np.array_equal(first.observations[:, -1], second.observations[:, 0])


def test_ends_and_limits_are_told_apart_and_limits_keep_what_they_stopped_at(collector):
    sequences, _ = collector.collect(policy)
    assert sequences.terminated.nonzero() == (pytest.approx([0]), pytest.approx([3]))
    assert sequences.truncated.nonzero() == (pytest.approx([1]), pytest.approx([2]))
    assert (sequences.finals.sequence.tolist(), sequences.finals.step.tolist()) == ([1], [2])
    assert sequences.finals.observations.tolist() == [[0, 3]]


def test_behaviour_probabilities_are_what_the_actions_were_drawn_with(collector):
    drawn = [collector.collect(policy)[0] for _ in range(200)]
    for one in drawn[:3]:
        flat = one.observations[:, :-1].reshape(-1, 2)
        assert np.array_equal(one.behaviour_probabilities.reshape(-1, 3), policy(flat))
    preferred = np.concatenate([(one.actions == one.observations[:, :-1, 1] % 3).ravel() for one in drawn])
    assert preferred.mean() == pytest.approx(0.8, abs=0.03)
    assert np.array_equal(drawn[0].rewards, drawn[0].actions)


def test_episodes_that_end_are_told_with_their_return(collector):
    sequences, ends = collector.collect(policy)
    limited, ended = ends
    assert (limited.decisions, ended.decisions) == (3, 4)
    assert ended.total_reward == sequences.rewards[0, :4].sum()
    assert (ended.metres, ended.seconds, ended.finished) == (0.0, 1.5, True)
    assert (limited.frames, ended.frames) == (9, 12)
    second, later = collector.collect(policy)
    whole = sequences.rewards[0, 4] + second.rewards[0, :3].sum()
    assert next(end for end in later if end.decisions == 4).total_reward == whole


def test_games_that_cannot_be_saved_start_anew_and_the_same_after_a_restore(collector):
    collector.collect(policy)
    state = collector.get_state()
    goes_on, _ = collector.collect(policy)
    assert goes_on.observations[:, 0, 1].tolist() == [0, 0, 0]
    collector.set_state(state)
    again, _ = collector.collect(policy)
    assert np.array_equal(goes_on.actions, again.actions)
