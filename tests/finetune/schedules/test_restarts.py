"""Games that begin where earlier ones were."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.envs.engine.batch import CLOCK
from qwop.envs.names import OUTCOMES
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.finetune.experience.collector import Collector
from qwop.finetune.schedules.phase import RestartSettings, parse_phases
from qwop.finetune.schedules.restarts import Restarts

from ..fakes import Uniform

GAMES = 8
STRETCH = RestartSettings(0.5, (-1.0, 0.4))
"""Metres that runners who press keys at random soon reach."""

FALLS = RestartSettings(0.5, (-10.0, 10.0), source="falls")
A_SECOND = 30 / 4


def vector(settings: RestartSettings = STRETCH) -> Restarts:
    return Restarts(QWOPVectorEnv(GAMES, autoreset_mode="SameStep", frames_per_step=4, max_idle_frames=5), settings)


def actions(steps: int, seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 11, (steps, GAMES))


def test_some_games_begin_in_the_stretch_and_say_so() -> None:
    env = vector()
    env.reset(seed=1)
    began, from_start = 0, 0
    for chosen in actions(200):
        observations, *_, terminated, truncated, _infos = env.step(chosen)
        for row in np.flatnonzero(terminated | truncated):
            now = env.env.save_game(int(row))
            np.testing.assert_array_equal(observations[row], now["observations"])
            again = env.step(np.zeros(GAMES, dtype=np.int64))[-1]["restarted"][row]
            began, from_start = began + again, from_start + (not again)
            break
    assert began > 3
    assert from_start > 3


def test_a_restarted_game_is_the_saved_one() -> None:
    env = QWOPVectorEnv(2, autoreset_mode="SameStep", frames_per_step=4)
    env.reset(seed=0)
    for _ in range(5):
        env.step(np.array([3, 0]))
    saved = env.save_game(0)
    observation = env.put_game(1, saved)
    for chosen in actions(10, seed=2)[:, :1]:
        np.testing.assert_array_equal(env.save_game(1)["reals"], env.save_game(0)["reals"])
        observations, *_ = env.step(np.repeat(chosen, 2))
        assert not np.array_equal(observations[1], observation)


def test_a_reset_forgets_the_states_of_earlier_games() -> None:
    env = vector()
    env.reset(seed=1)
    for chosen in actions(60):
        env.step(chosen)
    assert env.get_state()["starts"]["saved"]
    env.reset(seed=1)
    assert env.get_state()["starts"]["saved"] == []


def test_states_before_falls_are_between_one_and_five_seconds_old() -> None:
    env = vector(FALLS.with_(share=0.01))
    env.reset(seed=5)
    before: list[dict[bytes, float]] = [{} for _ in range(GAMES)]
    ages: dict[bytes, float] = {}
    for chosen in actions(400, seed=5):
        *_, terminated, _, infos = env.step(chosen)
        for row in range(GAMES):
            if terminated[row]:
                assert infos["outcome"][row] == OUTCOMES.index("fell")
                if not infos["restarted"][row]:
                    ages |= {key: infos["clock"][row] - then for key, then in before[row].items()}
                before[row] = {}
            else:
                before[row][env.env.save_game(row)["reals"].tobytes()] = infos["clock"][row]
    found = [ages[one["reals"].tobytes()] for one in env._starts.games]
    assert len(found) > 20
    assert 1.0 <= min(found) < 1.3
    assert 4.0 < max(found) <= 5.4  # eight decisions, of which seven and a half make a second


def test_games_that_do_not_end_by_a_fall_give_no_states() -> None:
    games = QWOPVectorEnv(GAMES, autoreset_mode="SameStep", frames_per_step=4, time_limit=4.0)
    env = Restarts(games, FALLS)
    env.reset(seed=0)
    ended = 0
    for _ in range(80):
        *_, terminated, truncated, infos = env.step(np.zeros(GAMES, dtype=np.int64))
        ended += int((terminated | truncated).sum())
        assert OUTCOMES.index("fell") not in infos["outcome"]
    assert ended > GAMES
    assert env.get_state()["starts"]["saved"] == []


def test_games_from_saved_states_are_truncated_after_their_seconds() -> None:
    env = vector(FALLS.with_(seconds=1.0))
    alone = QWOPVectorEnv(GAMES, autoreset_mode="SameStep", frames_per_step=4)
    alone.reset(seed=0)
    env.reset(seed=6)
    lengths, cut, started_anew = np.zeros(GAMES, dtype=np.int64), 0, 0
    for chosen in actions(400, seed=6):
        observations, _, terminated, truncated, infos = env.step(chosen)
        expected, _, _, _, own = alone.step(chosen)
        done, restarted = terminated | truncated, infos["restarted"]
        lengths += 1
        assert (lengths[restarted] <= round(A_SECOND)).all()
        assert not truncated[~restarted].any()
        np.testing.assert_array_equal(truncated, restarted & ~terminated & (lengths == round(A_SECOND)))
        if done.any():
            np.testing.assert_array_equal(infos["_final_obs"], done)
            np.testing.assert_array_equal(infos["_final_info"], done)
        for row in np.flatnonzero(truncated):
            cut += 1
            np.testing.assert_array_equal(infos["final_obs"][row], expected[row])
            assert infos["final_info"]["distance"][row] == own["distance"][row]
        for row in np.flatnonzero(done):
            now = env.env.save_game(int(row))
            np.testing.assert_array_equal(observations[row], now["observations"])
            alone.put_game(int(row), now)
            started_anew += truncated[row] and now["numbers"][CLOCK] < 0.2
            lengths[row] = 0
    assert cut > 20
    assert 0.3 < started_anew / cut < 0.7


def test_games_that_did_not_begin_at_the_start_are_not_reported() -> None:
    collector = Collector(vector(RestartSettings(0.9, (-1.0, 0.4))), 300, np.random.default_rng(0))
    sequences, ends = collector.collect(Uniform(11))
    assert 0 < len(ends) < (sequences.terminated | sequences.truncated).sum()


@pytest.mark.parametrize(
    "wrong",
    [
        {"metres": [1, 2]},
        {"share": 0.5, "order": "sideways"},
        {"share": 1.5, "metres": [1, 2]},
        {"share": 0.5, "metres": [2, 1]},
        {"share": 0.5, "source": "trips"},
        {"share": 0.5, "seconds": 0},
        {"share": 0.5, "metres": 3},
        1,
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"phases\.late\.restarts"):
        parse_phases({"late": {"hours": 1, "restarts": wrong}})


def test_a_phase_names_them() -> None:
    (phase,) = parse_phases({"late": {"hours": 1, "restarts": {"share": 0.5, "metres": [38, 50]}}})
    assert phase.restarts == RestartSettings(0.5, (38.0, 50.0))
