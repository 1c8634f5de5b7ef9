"""`qwop-distil` as a person uses it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy
from qwop.policies.rollout import play

from .conftest import IDLE, RUNNER, Command, made_up, runner, searched

pytestmark = pytest.mark.slow


def test_the_policy_plays_the_fastest_searched_game_and_keeps_its_values(
    policy_file: Path, tmp_path: Path, distil: Command
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


def test_delays_and_the_way_to_play_are_left_behind(policy_file: Path, tmp_path: Path, distil: Command) -> None:
    policy = load_policy(policy_file)
    games = searched(tmp_path / "games", policy)
    late = replace(runner(delay=0.02), greedy=False, sharpness=5.0)
    save_policy(tmp_path / "late.safetensors", late)
    of_late = searched(tmp_path / "of-late", late, made_up(1, 21))
    given = [f"policy={tmp_path / 'late.safetensors'}", f"games=[{games},{of_late}]", f"out={tmp_path / 'out'}"]
    assert distil(*given, "own_games=1", "own=0", "steps=10").code == 0
    after = load_policy(tmp_path / "out" / "policy.safetensors")
    assert after.environment == RUNNER
    assert (after.greedy, after.sharpness) == (True, 1.0)


def test_bad_input_is_one_line_and_what_is_there_stays(policy_file: Path, tmp_path: Path, distil: Command) -> None:
    policy, shape = load_policy(policy_file), ObservationSpec((84, 84, 1), "uint8")
    games = searched(tmp_path / "games", policy)
    picture = Policy(Actor(shape, 11, (8,)), EnvironmentSpec("QWOP-v1", {"observation": "pixels"}), shape)
    seeing = save_policy(tmp_path / "seeing.safetensors", picture)
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text("schedule: {}\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refusals: list[tuple[list[str], str]] = [
        ([f"games=[{searched(tmp_path / 'fell', policy, outcome='fell')}]"], "no finished game; search for some"),
        ([f"games=[{searched(tmp_path / 'bare', policy, keys=None)}]"], "games without the keys of each frame"),
        ([f"games=[{searched(tmp_path / 'other', runner(frames_per_step=2))}]"], "but the policy plays QWOP-v1(frames"),
        ([f"policy={seeing}"], "expected a memoryless policy of numbers for QWOP-v1"),
        (["margin=0"], "margin=0"),
        ([f"out={run}"], "holds the run of another command"),
        ([f"out={games}"], f"out={games}: is inside {games}"),
        ([f"out={games / 'inside'}"], f"out={games / 'inside'}: is inside {games}"),
    ]
    for arguments, complaint in refusals:
        usual = [f"policy={policy_file}", f"games=[{games}]", f"out={tmp_path / 'out'}"]
        words = {word.partition("=")[0]: word for word in (*usual, *arguments)}
        code, _, error = distil(*words.values())
        assert (code, error.count("\n")) == (2, 1)
        assert complaint in error
    assert not (tmp_path / "out").exists()
    assert {path: path.read_bytes() for path in before} == before
