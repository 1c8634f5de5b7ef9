"""Games that start from states along demonstrations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.writer import DatasetWriter
from qwop.envs import replay
from qwop.envs.engine.batch import DISTANCE
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.loop import Loop
from qwop.finetune.schedules.phase import Phase, RestartSettings, parse_phases
from qwop.finetune.schedules.restarts import EVERY, Restarts, demonstrated_states

from ..runs import assert_same, run_until, small_run

FRAME_BY_FRAME = EnvironmentSpec("QWOP-v1", {"frames_per_step": 1})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two of the embedded games."""
    folder = tmp_path_factory.mktemp("two")
    games = open_dataset(embedded_dataset())
    writer = DatasetWriter(folder, games.info)
    for game in games[:2]:
        writer.write(game)
    return open_dataset(folder)


def keys_of(dataset: Dataset, number: int) -> np.ndarray:
    keys = dataset[number].keys
    assert keys is not None
    return np.concatenate(keys)


def test_the_states_are_those_of_the_replay_between_these_metres(dataset: Dataset) -> None:
    states = demonstrated_states(dataset, FRAME_BY_FRAME, (40.0, 50.0))
    wanted = []
    for number in range(2):
        played = replay(keys_of(dataset, number)).states
        wanted += [one for one in played[EVERY:-1:EVERY] if 40.0 <= one[0, 0] / 10 < 50.0]
    assert len(states) == len(wanted) > 5
    for state, bodies in zip(states, wanted, strict=True):
        np.testing.assert_array_equal(state["reals"][:84].reshape(14, 6), bodies)
        assert state["numbers"][DISTANCE] == bodies[0, 0] / 10


def test_a_state_is_the_game_that_was_played_up_to_it(dataset: Dataset) -> None:
    """Its clock, its keys and what it observes, not only where its bodies are."""
    keys = keys_of(dataset, 0)
    env = QWOPEnv(frames_per_step=1, max_idle_frames=0)
    env.reset()
    played = {}
    for frame in range(1, 201):
        env.advance(int(keys[frame - 1]))
        played[frame] = env.save_game()
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 1})
    states = demonstrated_states(dataset, spec, (-100.0, 100.0))
    began = {"idle": 0, "commands": np.zeros(0, dtype=np.uint8)}
    for number, frame in enumerate(range(EVERY, 201, EVERY)):
        assert_same(states[number], {**played[frame], **began, "origin": number})


def test_a_game_that_starts_there_and_has_the_demonstrations_keys_ends_as_it_did(dataset: Dataset) -> None:
    keys = keys_of(dataset, 0)
    whole = replay(keys)
    state = demonstrated_states(dataset, FRAME_BY_FRAME, (30.0, 60.0))[0]
    frame = round((state["numbers"][3] - whole.events[0, 5]) * 30)
    env = QWOPVectorEnv(1, autoreset_mode="SameStep", frames_per_step=1)
    env.reset(seed=0)
    env.put_game(0, state)
    actions = {int(pressed): action for action, pressed in enumerate(ACTION_KEYS)}
    for pressed in keys[frame:]:
        _, _, terminated, _, infos = env.step(np.array([actions[int(pressed)]]))
    assert terminated[0]
    assert infos["final_info"]["score"][0] == whole.events[-1, 0]


def test_games_start_in_the_stretch(dataset: Dataset) -> None:
    settings = RestartSettings(0.9, (60.0, 90.0), source="demonstrations")
    env = Restarts(
        QWOPVectorEnv(8, autoreset_mode="SameStep", frames_per_step=4, time_limit=60.0),
        settings,
        demonstrated_states(dataset, EnvironmentSpec("QWOP-v1", {"frames_per_step": 4}), settings.metres),
    )
    env.reset(seed=0)
    generator, found = np.random.default_rng(0), list[float]()
    for _ in range(150):
        *_, terminated, truncated, _infos = env.step(generator.integers(0, 11, 8))
        for row in np.flatnonzero(terminated | truncated):
            found.append(float(env.env.save_game(int(row))["reals"][0] / 10))
    far = [metres for metres in found if metres > 5.0]
    assert 60.0 <= min(far) < 75.0 < max(far) <= 90.0


def test_a_phase_that_restarts_from_demonstrations_needs_them_and_keeps_them_out_of_memory() -> None:
    (phase,) = parse_phases({"late": {"hours": 1, "restarts": {"share": 0.5, "source": "demonstrations"}}})
    assert phase.needs_demonstrations
    assert not phase.uses_demonstrations
    (live,) = parse_phases({"late": {"hours": 1, "restarts": {"share": 0.5, "metres": [38, 50]}}})
    assert not live.needs_demonstrations


def test_demonstrations_without_keys_are_refused(tmp_path: Path, dataset: Dataset) -> None:
    writer = DatasetWriter(tmp_path, dataset.info)
    writer.write(replace(dataset[0], keys=None))
    with pytest.raises(BadInput, match="has no keys to replay"):
        demonstrated_states(open_dataset(tmp_path), FRAME_BY_FRAME, (0.0, 100.0))


def test_a_stretch_that_nobody_passed_is_refused(dataset: Dataset) -> None:
    with pytest.raises(BadInput, match=r"no demonstration in .* passes there"):
        demonstrated_states(dataset, FRAME_BY_FRAME, (200.0, 300.0))


def test_games_have_ten_seconds_left_before_the_time_limit(dataset: Dataset) -> None:
    short = EnvironmentSpec("QWOP-v1", {"frames_per_step": 1, "time_limit": 25.0})
    clocks = [float(state["numbers"][3]) for state in demonstrated_states(dataset, short, (0.0, 100.0))]
    assert 14.0 < max(clocks) <= 15.0
    with pytest.raises(BadInput, match="raise time_limit"):
        demonstrated_states(dataset, short, (90.0, 100.0))


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, dataset: Dataset) -> None:
    restarts = RestartSettings(0.5, (10.0, 90.0), source="demonstrations")
    phases = (Phase("practice", 1920 / 36000, restarts=restarts),)

    def run(folder: str, **more: Any) -> Loop:
        size = {"num_envs": 8, "steps": 40, "checkpoint_every": 640, "overlap": True}
        return small_run("ppo", phases, EnvironmentSpec("QWOP-v1"), tmp_path / folder, dataset, **size, **more)

    whole = run("whole")
    whole.run()
    run_until(run("half"), 600)
    resumed = run("half", resume=True)
    resumed.run()
    assert_same(resumed.get_state(), whole.get_state())
