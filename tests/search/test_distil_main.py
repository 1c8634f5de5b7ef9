"""`qwop-distil` as a person uses it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.commands import distil as main
from qwop.datasets.origin import Origin
from qwop.datasets.schema import DatasetInfo
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Actor, Values
from qwop.policies.policy import Policy
from qwop.policies.rollout import play
from qwop.search.games import searched_episode

pytestmark = pytest.mark.slow

TASK = {"observation": "full", "frames_per_step": 3, "reward": "race", "time_limit": 3.0}
IDLE = 4


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    generator = torch.Generator().manual_seed(0)
    network, values = Actor(94, 11, (32,), generator), Values(94, (8,), generator)
    policy = Policy(network, EnvironmentSpec("QWOP-v1", TASK), ObservationSpec((94,)), values=values)
    return save_policy(tmp_path / "runner.safetensors", policy)


def made_up(seed: int, length: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(11, size=length)


def searched(folder: Path, policy: Policy, *games: NDArray[np.int64], outcome: str = "finished") -> Path:
    """A dataset of games of these actions, all from one start."""
    writer = DatasetWriter(folder, DatasetInfo(policy.environment, policy.observation, policy.actions))
    for actions in games or (made_up(0, 20),):
        game = searched_episode(policy.environment, actions, IDLE, "search", Origin(sha256="0" * 64))
        writer.write(replace(game, outcome=outcome))
    return folder


@pytest.fixture
def distil(run_command: Callable[..., Any]) -> Callable[..., Any]:
    """Runs the command with these arguments; gives its `code`, `out` and `err`."""
    return lambda *arguments: run_command(main, *arguments)


def test_the_policy_plays_the_fastest_searched_game_and_keeps_its_values(
    policy_file: Path, tmp_path: Path, distil: Callable[..., Any]
) -> None:
    before = load_policy(policy_file)
    slow = searched(tmp_path / "slow", before, made_up(1, 22))
    games = searched(tmp_path / "games", before, made_up(2, 21), made_up(0, 20), made_up(3, 21))
    given = [f"policy={policy_file}", f"games=[{games},{slow}]", f"out={tmp_path / 'out'}", "max_idle_frames=5"]
    code, printed, _ = distil(*given, "own_games=2", "own=0", "steps=800", "learning_rate=2e-3")
    assert code == 0
    assert "1 games: 20 of 20 decisions are the policy's now" in printed
    after = load_policy(tmp_path / "out" / "policy.safetensors")
    assert after.environment == before.environment
    assert after.values is not None
    assert before.values is not None
    torch.testing.assert_close(after.values.head.weight, before.values.head.weight)
    (game,) = play(after, episodes=1, seed=0, greedy=True, idle_frames=[IDLE])
    np.testing.assert_array_equal(game.actions[:20], made_up(0, 20))
    code, _, error = distil(*given)
    assert code == 2
    assert "holds a policy already, which stays" in error


def test_delays_and_the_way_to_play_are_left_behind(
    policy_file: Path, tmp_path: Path, distil: Callable[..., Any]
) -> None:
    policy = load_policy(policy_file)
    games = searched(tmp_path / "games", policy)
    delayed = EnvironmentSpec("QWOP-v1", {**TASK, "delay": 0.02})
    late = replace(policy, environment=delayed, greedy=False, sharpness=5.0)
    save_policy(tmp_path / "late.safetensors", late)
    of_late = searched(tmp_path / "of-late", late, made_up(1, 21))
    given = [f"policy={tmp_path / 'late.safetensors'}", f"games=[{games},{of_late}]", f"out={tmp_path / 'out'}"]
    assert distil(*given, "own_games=1", "own=0", "steps=10").code == 0
    after = load_policy(tmp_path / "out" / "policy.safetensors")
    assert after.environment == EnvironmentSpec("QWOP-v1", TASK)
    assert (after.greedy, after.sharpness) == (True, 1.0)


def test_its_own_games_are_kept_where_no_faster_one_is_given(tmp_path: Path, distil: Callable[..., Any]) -> None:
    champion = load_policy("champion")
    own = list(play(champion, episodes=3, seed=0, greedy=True, idle_frames=range(3)))
    fast = made_up(0, 20)
    games = tmp_path / "games"
    writer = DatasetWriter(games, DatasetInfo(champion.environment, champion.observation, champion.actions))
    slower = searched_episode(champion.environment, own[1].actions[:-1].astype(np.int64), 1, "search", Origin())
    assert slower.keys is not None
    keys = (*slower.keys[:-1], np.ones(99, dtype=np.uint8))
    writer.write(replace(slower, outcome="finished", keys=keys))
    faster = searched_episode(champion.environment, fast, 2, "search", Origin())
    writer.write(replace(faster, outcome="finished"))
    given = [f"games=[{games}]", f"out={tmp_path / 'out'}", "keep=3", "own_games=1", "steps=1"]
    code, printed, _ = distil(*given, "max_idle_frames=0")
    assert code == 0
    assert "3 games" in printed
    assert f"of {len(own[0]) + len(own[1]) + len(fast):,} decisions" in printed


def test_games_without_keys_and_the_folder_of_another_command_are_refused(
    policy_file: Path, tmp_path: Path, distil: Callable[..., Any]
) -> None:
    policy = load_policy(policy_file)
    game = searched_episode(policy.environment, made_up(0, 20), IDLE, "search", Origin(sha256="0" * 64))
    writer = DatasetWriter(tmp_path / "bare", DatasetInfo(policy.environment, policy.observation, policy.actions))
    writer.write(replace(game, outcome="finished", keys=None))
    code, _, error = distil(f"policy={policy_file}", f"games=[{tmp_path / 'bare'}]", f"out={tmp_path / 'out'}")
    assert (code, error.count("\n")) == (2, 1)
    assert "games without the keys of each frame" in error

    (tmp_path / "config.yaml").write_text("schedule: {}\n")
    games = searched(tmp_path / "games", policy)
    code, _, error = distil(f"policy={policy_file}", f"games=[{games}]", f"out={tmp_path}")
    assert code == 2
    assert "holds the run of another command" in error
    assert (tmp_path / "config.yaml").read_text() == "schedule: {}\n"


def test_a_place_among_the_games_is_refused(policy_file: Path, tmp_path: Path, distil: Callable[..., Any]) -> None:
    games = searched(tmp_path / "games", load_policy(policy_file))
    before = sorted(path.name for path in games.iterdir())
    for out in (games, games / "inside"):
        code, _, error = distil(f"policy={policy_file}", f"games=[{games}]", f"out={out}")
        assert (code, error) == (
            2,
            f"qwop-distil: out={out}: is inside {games}, which stays as it is; give out= another place\n",
        )
    assert sorted(path.name for path in games.iterdir()) == before


def test_bad_input_is_one_line(policy_file: Path, tmp_path: Path, distil: Callable[..., Any]) -> None:
    policy = load_policy(policy_file)
    other = replace(policy, environment=EnvironmentSpec("QWOP-v1", {**TASK, "frames_per_step": 2}))
    pixels = {"observation": "pixels"}
    picture = Policy(Actor(ObservationSpec((84, 84, 1), "uint8"), 11, (8,)), EnvironmentSpec("QWOP-v1", pixels),
                     ObservationSpec((84, 84, 1), "uint8"))  # fmt: skip
    seeing = save_policy(tmp_path / "seeing.safetensors", picture)
    cases = {
        f"games=[{searched(tmp_path / 'fell', policy, outcome='fell')}]": "no finished game; search for some",
        f"games=[{searched(tmp_path / 'other', other)}]": "but the policy plays QWOP-v1(frames_per_step=3",
        f"policy={seeing}": "expected a memoryless policy of numbers for QWOP-v1",
        "margin=0": "margin=0",
    }
    for argument, said in cases.items():
        code, _, error = distil(f"policy={policy_file}", f"out={tmp_path / 'out'}", argument)
        assert code == 2
        assert said in error
        assert error.count("\n") == 1
        assert not (tmp_path / "out" / "policy.safetensors").exists()
