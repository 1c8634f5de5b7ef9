"""Games that begin where earlier ones were, or along demonstrations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.reader import Dataset, open_dataset
from qwop.envs.engine.batch import CLOCK
from qwop.envs.names import OUTCOMES
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.schedules import restarts
from qwop.finetune.schedules.environments import PhaseEnvironments
from qwop.finetune.schedules.phase import Phase, RestartSettings
from qwop.finetune.schedules.restarts import EVERY, Restarts, demonstrated_states

from ...fakes import untrained
from ..fakes import write_games
from ..runs import assert_same

GAMES = 8
STRETCH = RestartSettings(0.5, (-1.0, 0.4))
"""Metres that runners who press keys at random soon reach."""

FALLS = RestartSettings(0.5, (-10.0, 10.0), source="falls")
A_SECOND = 30 / 4
FRAME_BY_FRAME = EnvironmentSpec("QWOP-v1", {"frames_per_step": 1})
SHORT = EnvironmentSpec("QWOP-v1", {"frames_per_step": 1, "time_limit": 25.0})


def vector(settings: RestartSettings = STRETCH) -> Restarts:
    return Restarts(QWOPVectorEnv(GAMES, frames_per_step=4, max_idle_frames=5), settings)


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


def test_a_full_memory_of_states_replaces_one_by_a_new_one_and_a_reset_forgets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(restarts, "CAPACITY", 3)
    env = vector(FALLS)
    env.reset(seed=5)
    counts = []
    for chosen in actions(100, seed=5):
        env.step(chosen)
        counts.append(len(env.get_state()["saved"]))
    assert max(counts) == counts[-1] == 3
    env.reset(seed=5)
    assert env.get_state()["saved"] == []


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
    found = [ages[one["reals"].tobytes()] for one in env._games]
    assert len(found) > 20
    assert 1.0 <= min(found) < 1.3
    assert 4.0 < max(found) <= 5.4  # eight decisions, of which seven and a half make a second


def test_games_from_saved_states_are_truncated_after_their_seconds() -> None:
    env = vector(FALLS.with_(seconds=1.0))
    alone = QWOPVectorEnv(GAMES, frames_per_step=4)
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


# Games that start from states along demonstrations.


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two of the embedded games."""
    games = open_dataset(embedded_dataset())
    return write_games(tmp_path_factory.mktemp("two"), games.info.environment, games[:2])


def keys_of(dataset: Dataset, number: int) -> NDArray[np.uint8]:
    keys = dataset[number].keys
    assert keys is not None
    return np.concatenate(keys)


def test_a_state_is_the_game_that_was_played_up_to_it(dataset: Dataset) -> None:
    """Its clock, its keys and what it observes, not only where its bodies are."""
    env, played = QWOPEnv(frames_per_step=1, max_idle_frames=0), {}
    env.reset()
    for frame in range(1, 201):
        env.advance(int(keys_of(dataset, 0)[frame - 1]))
        played[frame] = env.save_game()
    states = demonstrated_states(dataset, FRAME_BY_FRAME, (-100.0, 100.0))
    began = {"idle": 0, "commands": np.zeros(0, dtype=np.uint8)}
    for number, frame in enumerate(range(EVERY, 201, EVERY)):
        assert_same(states[number], {**played[frame], **began, "origin": number})


def test_games_start_in_the_stretch(dataset: Dataset) -> None:
    settings = RestartSettings(0.9, (60.0, 90.0), source="demonstrations")
    policy = untrained(EnvironmentSpec("QWOP-v1", {"frames_per_step": 4, "time_limit": 60.0}))
    env = PhaseEnvironments([Phase("late", 1.0, restarts=settings)], policy, GAMES, 0, dataset).make(0)
    assert isinstance(env, Restarts)
    found = list[float]()
    env.reset(seed=0)
    for chosen in actions(150):
        *_, terminated, truncated, _infos = env.step(chosen)
        for row in np.flatnonzero(terminated | truncated):
            found.append(float(env.env.save_game(int(row))["reals"][0] / 10))
    far = [metres for metres in found if metres > 5.0]
    assert 60.0 <= min(far) < 75.0 < max(far) <= 90.0


def test_games_have_ten_seconds_left_before_the_time_limit(dataset: Dataset) -> None:
    clocks = [float(state["numbers"][CLOCK]) for state in demonstrated_states(dataset, SHORT, (0.0, 100.0))]
    assert 14.0 < max(clocks) <= 15.0


@pytest.mark.parametrize(
    ("keys", "spec", "metres", "said"),
    [
        (False, FRAME_BY_FRAME, (0.0, 100.0), "has no keys to replay"),
        (True, FRAME_BY_FRAME, (200.0, 300.0), r"no demonstration in .* passes there"),
        (True, SHORT, (90.0, 100.0), "raise time_limit"),
    ],
)
def test_demonstrations_that_give_no_state_are_refused(
    keys: bool, spec: EnvironmentSpec, metres: tuple[float, float], said: str, tmp_path: Path, dataset: Dataset
) -> None:
    if not keys:
        dataset = write_games(tmp_path, dataset.info.environment, [replace(dataset[0], keys=None)])
    with pytest.raises(BadInput, match=said):
        demonstrated_states(dataset, spec, metres)
