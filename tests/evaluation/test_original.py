"""`qwop-evaluate world=original`: on the toy page that has the original's names, and in the original itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.envs import EnvironmentSpec, replay
from qwop.envs.qwop.keys_file import read_keys, write_keys
from qwop.envs.spec import ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

Evaluated = Callable[..., tuple[dict[str, Any], str]]


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 4, "time_limit": 3.0, "observation_lag": 1})
    policy = Policy(ActorCritic(71, 11, hidden=(16,)), spec, ObservationSpec((71,)))
    return save_policy(tmp_path_factory.mktemp("policy") / "runner.safetensors", policy)


@pytest.fixture
def evaluated(evaluate: Callable[..., Any]) -> Evaluated:
    """Evaluates without a film, with drawn actions; gives the report, and what was said."""

    def run(out: Path, *arguments: str) -> tuple[dict[str, Any], str]:
        where = [] if any(one.startswith("out=") for one in arguments) else [f"out={out}"]
        code, said, error = evaluate(*arguments, *where, "video=false", "greedy=false")
        assert code == 0, error
        return json.loads((out / "evaluation.json").read_text()), said

    return run


def test_what_the_page_plays_is_reported_and_compared(
    fake: Path,
    chromium: None,
    policy_file: Path,
    tmp_path: Path,
    evaluated: Evaluated,
) -> None:
    arguments = [f"policy={policy_file}", "world=original", f"original.folder={fake}", "episodes=3"]
    report, said = evaluated(tmp_path / "out", *arguments)
    assert report["world"] == "original"
    assert report["environment"]["id"] == "QWOPOriginal-v1"
    assert report["environment"]["settings"]["frames_per_step"] == 4
    # The toy is another game, and so it is said.
    assert report["simulator"]["agreeing"] == 0
    assert "by their keys: 0 of 6" in said
    keys = read_keys(tmp_path / "out" / "best_keys.txt")
    best = report["simulator"]["games"][report["best_game"]]
    assert best["frames"] == len(keys)
    assert best["simulator_frames"] == len(replay(keys).states) - 1
    assert best["largest_difference"] > 0


@pytest.mark.usefixtures("present_browser")
def test_in_the_original_a_policys_games_are_those_of_the_simulator(
    original: str, policy_file: Path, tmp_path: Path, evaluated: Evaluated
) -> None:
    both = [f"policy={policy_file}", "episodes=5", "seed=4"]
    there, _ = evaluated(tmp_path / "a", *both, "world=original", f"original.folder={original}")
    here, _ = evaluated(tmp_path / "b", *both)
    assert there["games"] == here["games"]
    assert there["simulator"]["agreeing"] == 10  # rolling starts, and any


def test_keys_are_played_in_the_page_and_compared(
    fake: Path, chromium: None, tmp_path: Path, evaluated: Evaluated
) -> None:
    file = write_keys(tmp_path / "mine.txt", [1, 1, 5, 0, 2], "a game")
    arguments = [f"keys={file}", "world=original", f"original.folder={fake}", "out=null"]
    report, said = evaluated(tmp_path / "mine-replay-original", *arguments)
    assert report["frames"] == 5
    assert report["simulator"]["same"] is False  # the toy is another game
    assert "same in the simulator" in said


@pytest.mark.usefixtures("present_browser")
def test_the_champions_best_game_finishes_in_the_original(original: str, tmp_path: Path, evaluated: Evaluated) -> None:
    arguments = ["keys=champion", "world=original", f"original.folder={original}"]
    report, _ = evaluated(tmp_path / "out", *arguments)
    assert report["outcome"] == "finished"
    assert report["simulator"]["same"] is True
    assert report["seconds"] == report["simulator"]["seconds"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["world=original"], "original.url and original.folder: neither given"),
        (["world=original", "original.folder=nowhere"], "original.folder=nowhere: no such folder"),
        (["world=original", "original.timeout=soon"], "original.timeout"),
        (["world=original", "+original.speed=3"], "original.speed: no such setting"),
        (["world=original", "original.folder=.", "policy={pole}"], "plays CartPole-v1"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    arguments: list[str],
    said: str,
    policy_file: Path,
    tmp_path: Path,
    evaluate: Callable[..., Any],
) -> None:
    pole = Policy(ActorCritic(4, 2, hidden=(16,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
    file = save_policy(tmp_path / "pole.safetensors", pole)
    given = [f"policy={policy_file}", *(argument.format(pole=file) for argument in arguments)]
    code, _, error = evaluate(*given, f"out={tmp_path / 'out'}")
    lines = error.strip().splitlines()
    assert code == 2
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "out").exists()
