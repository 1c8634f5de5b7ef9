"""Beam search: the game found can be played, is better than the policy's own, and is an episode."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets.origin import Origin
from qwop.datasets.schema import Episode
from qwop.envs import replay
from qwop.envs.names import ACTION_KEYS, ACTIONS, EVENT_COLUMNS
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.champion import keys_path
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.policies.rollout import play
from qwop.search.beam import Search
from qwop.search.main import rank, searched_episode
from qwop.search.settings import SearchSettings

from .conftest import RUNNER, TASK, runner

SECONDS, FRAMES_PER_STEP = 4.0, TASK["frames_per_step"]


@pytest.fixture
def policy() -> Policy:
    policy = runner(8, time_limit=SECONDS)
    assert policy.values is not None
    torch.nn.init.zeros_(policy.values.head.weight)  # metres alone
    return policy


def search(policy: Policy, threads: int = 1, **settings: Any) -> tuple[NDArray[np.uint8], list[tuple[float, float]]]:
    """The keys of the game found, of every frame, and the progress reported after each decision."""
    reported: list[tuple[float, float]] = []
    searching = Search(policy, SearchSettings(**settings), threads)
    actions = searching.run(progress=lambda metres, seconds: reported.append((metres, seconds)))
    searching.close()
    return np.repeat(ACTION_KEYS[actions], FRAMES_PER_STEP), reported


def metres(keys: NDArray[np.uint8]) -> float:
    return float(replay(keys).states[-1, 0, 0] / 10)


def test_the_game_found_replays_and_gets_farther_than_a_held_key(policy: Policy) -> None:
    keys, reported = search(policy, width=6, lookahead=4, siblings=3, shortlist=11)
    assert replay(keys).events[-1, 5] < SECONDS + 0.2
    assert metres(keys) > 1.2
    assert metres(keys) > max(metres(np.full(len(keys), held, dtype=np.uint8)) for held in ACTION_KEYS)
    assert reported[-1][0] == pytest.approx(metres(keys[: len(reported) * 3]), abs=0.5)


def test_a_search_ends_with_the_finish() -> None:
    champion = load_policy("champion")
    best = read_keys(keys_path("champion"))
    idle, late = int(np.argmax(best > 0)), int(np.argmax(replay(best).states[:, 0, 0] >= 970))
    opening = np.array([ACTION_KEYS.tolist().index(pressed) for pressed in best[idle:late]])
    searching = Search(champion, SearchSettings(width=2, lookahead=4))
    actions = searching.run(idle, opening=opening)
    searching.close()
    keys = np.concatenate([np.zeros(idle, dtype=np.uint8), ACTION_KEYS[actions]])  # it decides in every frame
    found = replay(keys).events[1:]
    assert len(found) == len(keys)
    assert found[-1, EVENT_COLUMNS.index("landed")]
    assert found[-1, EVENT_COLUMNS.index("score")] >= 100


def test_a_wider_search_finds_a_better_game(policy: Policy) -> None:
    assert metres(search(policy, width=8, lookahead=4)[0]) > metres(search(policy, width=1, lookahead=1)[0])


def test_the_same_search_finds_the_same_game_in_any_number_of_threads(policy: Policy) -> None:
    one, other = (search(policy, threads, width=9, lookahead=2)[0] for threads in (1, 2))
    np.testing.assert_array_equal(one, other)


def test_actions_are_held_for_so_many_decisions_and_the_game_found_is_the_one_searched(policy: Policy) -> None:
    keys, reported = search(policy, width=4, lookahead=2, hold=2)
    held = keys.reshape(-1, 2 * FRAMES_PER_STEP)
    assert (held == held[:, :1]).all()
    searched = keys[: 2 * FRAMES_PER_STEP * len(reported)]
    assert reported[-1][0] == pytest.approx(metres(searched), abs=0.5)
    assert reported[-1][1] == pytest.approx(len(searched) / 30, abs=0.1)


def test_a_shortlist_of_all_candidates_is_no_shortlist(policy: Policy) -> None:
    every, more = (search(policy, width=2, lookahead=2, shortlist=shortlist)[0] for shortlist in (11, 50))
    np.testing.assert_array_equal(every, more)
    assert not np.array_equal(every, search(policy, width=2, lookahead=2, shortlist=1)[0])


def test_a_large_regret_finds_what_the_policy_plays_itself(policy: Policy) -> None:
    with torch.no_grad():
        policy.network.policy_head.weight.mul_(300)  # type: ignore[union-attr]  # else nearly uniform
    own = next(play(policy, episodes=1, seed=0, greedy=True))
    assert len({*own.actions.tolist()}) > 3
    likely, _ = search(policy, width=1, lookahead=2, regret=1e6)
    np.testing.assert_array_equal(likely, np.concatenate(own.keys or ())[: len(likely)])
    assert len(likely) > 90  # up to the decision in which it falls
    assert not np.array_equal(likely, search(policy, width=1, lookahead=2)[0])


def log_probability(policy: Policy, **settings: Any) -> float:
    """The mean of log π(a|s) over the game that a search finds."""
    searching = Search(policy, SearchSettings(**{"width": 8, "lookahead": 2, **settings}))
    env = policy.environment.make()
    observation, _ = env.reset(options={"idle_frames": 0})
    total = 0.0
    actions = searching.run()
    for action in actions:
        probabilities, _ = policy.step(observation[None], policy.initial_state(1))
        total += float(np.log(probabilities[0, action]))
        observation, *_ = env.step(int(action))
    searching.close()
    return total / len(actions)


def test_the_more_likelihood_is_worth_the_likelier_the_game_found_and_all_its_decisions_count(policy: Policy) -> None:
    with torch.no_grad():
        policy.network.policy_head.weight.mul_(100)  # type: ignore[union-attr]
    never, some, much = (log_probability(policy, likelihood=one) for one in (0.0, 0.02, 1.0))
    assert never < some < much
    # The most probable action each time does not make the most probable game; a wide beam comes closer to it.
    narrow, wide = (log_probability(policy, width=width, siblings=11, likelihood=1e6) for width in (1, 32))
    assert wide > narrow


def test_policies_and_settings_that_cannot_search_are_refused(
    policy: Policy, alternating: Callable[[EnvironmentSpec], Policy]
) -> None:
    elsewhere = Policy(policy.network, EnvironmentSpec("CartPole-v1"), ObservationSpec((94,)))
    with pytest.raises(BadInput, match="QWOP-v1"):
        Search(elsewhere, SearchSettings())
    with pytest.raises(BadInput, match=r"alternating for float32 .*: a search needs a memoryless network"):
        Search(alternating(policy.environment), SearchSettings())
    with pytest.raises(BadInput, match="a policy without values"):
        Search(replace(policy, values=None), SearchSettings())


NOTHING, Q = ACTIONS.index("none"), ACTIONS.index("q")


@pytest.mark.parametrize(("frames", "idle"), [(1, 0), (3, 4), (4, 0)])
def test_a_found_game_ends_at_the_time_limit_as_it_does_in_the_environment(frames: int, idle: int) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": frames, "time_limit": 2.0})
    env = spec.make()
    env.reset(options={"idle_frames": idle})
    rewards, truncated = [], False
    while not truncated:
        seen, reward, _, truncated, _ = env.step(NOTHING)
        rewards.append(reward)
    game = searched_episode(spec, np.full(100, NOTHING), idle, "search", Origin())
    np.testing.assert_array_equal(game.rewards, np.float32(rewards))
    np.testing.assert_array_equal(game.observations[-1], seen)
    assert (game.terminated, game.truncated) == (False, True)


def test_a_fast_finish_is_better_than_a_slow_one_and_both_than_a_long_way() -> None:
    def game(decisions: int, outcome: str, metres: float) -> Episode:
        made = searched_episode(EnvironmentSpec("QWOP-v1"), np.full(decisions, Q), 0, "search", Origin())
        return replace(made, outcome=outcome, metres=metres)

    games = [game(4, "finished", 99.0), game(5, "finished", 101.0), game(3, "fell", 60.0), game(2, "fell", 50.0)]
    assert sorted([games[place] for place in (2, 0, 3, 1)], key=rank) == games


def test_actions_after_the_end_of_a_found_game_are_left_out() -> None:
    """O and P, held from the start, make the runner fall after 16 decisions."""
    episodes = [searched_episode(RUNNER, np.full(count, 7), 0, "search", Origin()) for count in (16, 20)]
    assert [(len(one.actions), one.outcome) for one in episodes] == [(16, "fell")] * 2
    np.testing.assert_array_equal(episodes[0].observations, episodes[1].observations)
    assert episodes[1].behaviour_probabilities.shape == (16, 11)
