"""`qwop-evaluate world=original`: on the toy page that has the original's names, and in the original itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys, write_keys

Evaluated = Callable[..., tuple[dict[str, Any], str]]


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
