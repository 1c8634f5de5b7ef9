"""The runner that ships with the package, and what its name stands for."""

import json
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.task import outcome_of
from qwop.policies.champion import CHAMPION, keys_path, policy_path
from qwop.policies.files import load_policy
from qwop.policies.rollout import play


def test_it_finishes_most_of_its_games_faster_than_a_minute() -> None:
    games = play(load_policy(CHAMPION), episodes=16, seed=1, greedy=True, max_idle_frames=30)
    finished = [game.info["time"] for game in games if game.outcome == "finished"]
    assert len(finished) >= 12
    assert np.median(finished) < 60


def test_the_keys_of_its_best_game_finish_it() -> None:
    keys = read_keys(keys_path(CHAMPION))
    game = replay(keys)
    assert len(game.states) == len(keys) + 1
    assert outcome_of(game.events[-1]) == "finished"
    assert seconds_from_first_key(keys)[-1] < 60


def test_it_is_small_and_names_no_folder_of_the_machine_that_made_it() -> None:
    assert policy_path(CHAMPION).stat().st_size < 2_000_000
    assert keys_path(CHAMPION).stat().st_size < 20_000
    assert '"/' not in json.dumps(dict(load_policy(CHAMPION).training))


def test_a_folder_of_its_name_is_not_meant_and_a_file_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = policy_path(CHAMPION)
    (tmp_path / CHAMPION).mkdir()
    assert policy_path(CHAMPION) == shipped
    assert policy_path("champion.safetensors") == Path("champion.safetensors")
    (tmp_path / CHAMPION).rmdir()
    (tmp_path / CHAMPION).write_text("a file")
    with pytest.raises(BadInput, match=r"\./champion"):
        policy_path(CHAMPION)
    assert policy_path("./champion") == Path("champion")
