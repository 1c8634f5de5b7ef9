"""The environments under their names in Gymnasium's registry."""

import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.observations import bent_knee
from qwop.envs.qwop.rewards import rewards_along
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.champion import keys_path

THEIRS = "import gymnasium\ngymnasium.register('QWOP-v1', entry_point='gymnasium.envs.classic_control:CartPoleEnv')\n"

OURS = """
from qwop.envs import EnvironmentSpec
from qwop.envs.vector import make_vector
for spec in (EnvironmentSpec("QWOP-v1"), EnvironmentSpec.from_json({"id": "qwop/QWOP-v1", "settings": {}})):
    print(type(spec.make().unwrapped).__name__, type(make_vector(spec, 2).unwrapped).__name__, spec.id)
print(type(gymnasium.make("qwop/QWOP-v1").unwrapped).__name__)
print(type(gymnasium.make("QWOP-v1").unwrapped).__name__)
"""


def said_by(code: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_environment_is_made_without_an_import(tmp_path: Path) -> None:
    code = "import gymnasium; env = gymnasium.make('qwop:QWOP-v1'); print(type(env.unwrapped).__module__)"
    assert said_by(code, tmp_path) == ["qwop.envs.qwop.env"]
    code = "import gymnasium; env = gymnasium.make_vec('qwop:QWOP-v1', num_envs=2); print(type(env).__name__)"
    assert said_by(code, tmp_path) == ["QWOPVectorEnv"]


@pytest.mark.parametrize(
    ("imports", "short_name"),
    [("import qwop\n" + THEIRS, "CartPoleEnv"), (THEIRS + "import qwop\n", "CartPoleEnv"), ("", "QWOPEnv")],
    ids=["ours first", "theirs first", "ours alone"],
)
def test_the_projects_own_files_mean_our_environment_whoever_else_has_the_name(
    imports: str, short_name: str, tmp_path: Path
) -> None:
    said = said_by(f"import gymnasium\n{imports}{OURS}", tmp_path)
    assert said == ["QWOPEnv QWOPVectorEnv QWOP-v1"] * 2 + ["QWOPEnv", short_name]


def test_the_return_that_counts_as_solved_is_that_of_the_registration() -> None:
    assert EnvironmentSpec("CartPole-v1").open().reward_threshold == 475
    assert EnvironmentSpec("Blackjack-v1").open().reward_threshold is None


def test_a_finished_game_reaches_the_reward_threshold() -> None:
    threshold = gymnasium.spec("QWOP-v1").reward_threshold
    assert threshold is not None
    game = replay(read_keys(keys_path("champion")))
    x, y = game.states[::3, 0, 0], game.states[::3, 0, 1]
    assert rewards_along("speed", x, y, bent_knee(game.states[::3])).sum() >= threshold


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("CartPole", "CartPole-v1"),
        ("CartPole-v0", "CartPole-v0"),
        ("gymnasium:CartPole", "CartPole-v1"),
        ("QWOP", "QWOP-v1"),
        ("qwop/QWOP", "QWOP-v1"),
        ("qwop:QWOP", "QWOP-v1"),
        ("tests/Bare", "tests/Bare"),
        ("Unheard", "Unheard"),
    ],
)
def test_an_environment_is_stored_with_its_version(given: str, stored: str) -> None:
    bare = "tests/Bare"  # registered without a version
    gymnasium.register(bare, "gymnasium.envs.classic_control:CartPoleEnv")
    try:
        spec = EnvironmentSpec(given)
        assert spec.to_json() == {"id": stored, "settings": {}}
        assert EnvironmentSpec.from_json({"id": given.rpartition(":")[2], "settings": {}}) == spec
    finally:
        del gymnasium.registry[bare]


def test_a_game_of_atari_is_stored_with_its_version() -> None:
    pytest.importorskip("ale_py")
    assert EnvironmentSpec("ALE/Pong").to_json()["id"] == "ALE/Pong-v5"


def test_minigrid_is_found_by_its_ids_alone() -> None:
    pytest.importorskip("minigrid")
    opened = EnvironmentSpec("MiniGrid-Empty-5x5-v0").open()
    assert opened.actions == 7
    assert (opened.action_names or ())[2] == "forward"
