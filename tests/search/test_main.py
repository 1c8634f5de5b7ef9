"""`qwop-search` as a person uses it, and the refusals of `qwop-distil`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.folder_lock import exclusive_lock
from qwop.datasets.reader import open_dataset
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy
from qwop.search.beam import Search as Beam

from .conftest import Command, runner, searched

pytestmark = pytest.mark.slow


def test_finds_games_that_replay_and_goes_on_where_it_stopped(
    policy_file: Path, tmp_path: Path, search: Command
) -> None:
    small = [f"policy={policy_file}", f"out={tmp_path / 'out'}", "width=2", "lookahead=2", "every=5", "video=false"]
    assert search(*small, "games=2").code == 0
    games = list(open_dataset(tmp_path / "out" / "games"))
    assert [np.flatnonzero(np.concatenate(game.keys or ()))[0] for game in games] >= [0, 5]
    for game, idle in zip(games, (0, 5), strict=True):
        assert game.keys is not None
        assert len(game.keys[0]) == idle + 3
        assert replay(np.concatenate(game.keys)).states[-1, 0, 0] / 10 == game.metres
    best = read_keys(tmp_path / "out" / "best_keys.txt")
    assert replay(best).states[-1, 0, 0] / 10 == max(game.metres or 0 for game in games)

    film = tmp_path / "out" / "best.mp4"
    film.write_bytes(b"film")
    code, printed, _ = search(*small, "games=3")
    assert code == 0
    assert printed.count("found before") == 2
    assert not film.exists()  # it may have been of another game
    assert len(open_dataset(tmp_path / "out" / "games")) == 3
    assert json.loads((tmp_path / "out" / "games" / "dataset.json").read_text())["environment"]["id"] == "QWOP-v1"


def test_threads_change_nothing_but_the_time(policy_file: Path, tmp_path: Path, search: Command) -> None:
    """Three games side by side on two threads, one after the other on one, and each alone on two."""
    small = [f"policy={policy_file}", "width=3", "lookahead=3", "video=false"]
    assert search(*small, "games=3", "every=7", "threads=2", f"out={tmp_path / 'beside'}").code == 0
    assert search(*small, "games=3", "every=7", "threads=1", f"out={tmp_path / 'after'}").code == 0
    for number in range(3):
        assert search(*small, f"first={7 * number}", "threads=2", f"out={tmp_path / 'alone'}").code == 0
    beside, after, alone = (list(open_dataset(tmp_path / name / "games")) for name in ("beside", "after", "alone"))
    assert [game.origin.game for game in beside] == [0, 7, 14]
    for games in (after, alone):
        for one, same in zip(beside, games, strict=True):
            np.testing.assert_array_equal(one.observations, same.observations)
            assert (one.origin, one.source) == (same.origin, same.source)


def test_an_interrupted_search_keeps_the_games_before_and_ends_those_under_way(
    policy_file: Path, tmp_path: Path, search: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, begun, ended = Beam.run, [], []

    def interrupted(self: Beam, idle: int, *more: Any) -> Any:
        begun.append(idle)
        if idle == 5:
            raise KeyboardInterrupt
        try:
            return run(self, idle, *more)
        finally:
            ended.append(idle)

    monkeypatch.setattr(Beam, "run", interrupted)
    small = [f"policy={policy_file}", f"out={tmp_path / 'out'}", "width=2", "lookahead=2", "every=5", "video=false"]
    assert search(*small, "games=10", "threads=1").code != 0
    assert [game.origin.game for game in open_dataset(tmp_path / "out" / "games")] == [0]
    assert begun == [0, 5]
    assert ended == [0]


def test_games_of_a_policy_that_was_trained_with_delays_are_those_of_an_environment_without(
    policy_file: Path, tmp_path: Path, search: Command
) -> None:
    policy = load_policy(policy_file)
    file = save_policy(tmp_path / "late.safetensors", runner(delay=0.3))
    for name, policy_of in (("late", file), ("punctual", policy_file)):
        small = [f"policy={policy_of}", f"out={tmp_path / name}", "width=2", "lookahead=2", "video=false"]
        assert search(*small, "games=3", "every=0").code == 0  # the same start is searched once
    found, same = (open_dataset(tmp_path / name / "games") for name in ("late", "punctual"))
    assert (len(found), found.info.environment) == (1, policy.environment)
    np.testing.assert_array_equal(found[0].observations, same[0].observations)


USUAL = {
    "search": "policy={file} out={folder}/out lookahead=2 video=false",
    "distil": "policy={file} out={folder}/out games=[{folder}/games]",
}


@pytest.mark.parametrize(
    ("command", "words", "complaint"),
    [
        ("search", "policy=missing.safetensors", "missing.safetensors"),
        ("search", "width=0", "width=0"),
        ("search", "games=0", "games=0"),
        ("search", "first=-1", "first=-1"),
        ("search", "first=2000 games=3 every=600", "the last would begin after 3,200 frames"),
        ("search", "policy={folder}/without.safetensors", "without values"),
        ("search", "out={folder}/foreign", "of another command, whose config.yaml sets schedule"),
        ("search", "out={folder}/busy", "another process is writing there"),
        # The time limit is 90 frames.
        ("search", "first=100", "first=100: after 100 frames without a key the game is over"),
        ("search", "every=50 games=3", "first=0: after 100 frames without a key the game is over"),
        ("distil", "games=[{folder}/fell]", "no finished game; search for some"),
        ("distil", "games=[{folder}/bare]", "games without the keys of each frame"),
        ("distil", "games=[{folder}/other]", "but the policy plays QWOP-v1(frames"),
        ("distil", "policy={folder}/seeing.safetensors", "expected a memoryless policy of numbers for QWOP-v1"),
        ("distil", "margin=0", "margin=0"),
        ("distil", "out={folder}/foreign", "holds the run of another command"),
        ("distil", "out={folder}/games", "/games: is inside "),
        ("distil", "out={folder}/games/inside", "/games/inside: is inside "),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    command: str, words: str, complaint: str, policy_file: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    policy, shape = load_policy(policy_file), ObservationSpec((84, 84, 1), "uint8")
    picture = Policy(Actor(shape, 11, (8,)), EnvironmentSpec("QWOP-v1", {"observation": "pixels"}), shape)
    save_policy(tmp_path / "seeing.safetensors", picture)
    save_policy(tmp_path / "without.safetensors", replace(policy, values=None))
    searched(tmp_path / "games", policy)
    searched(tmp_path / "fell", policy, outcome="fell")
    searched(tmp_path / "bare", policy, keys=None)
    searched(tmp_path / "other", runner(frames_per_step=2))
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "config.yaml").write_text("schedule: {}\n")
    line = f"{USUAL[command]} {words}".format(file=policy_file, folder=tmp_path)
    with exclusive_lock(tmp_path / "busy", "out"):
        files = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
        settings = {word.partition("=")[0]: word for word in line.split()}
        code, _, error = request.getfixturevalue(command)(*settings.values())
        assert (code, error.count("\n")) == (2, 1)
        assert complaint in error
        assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == files
