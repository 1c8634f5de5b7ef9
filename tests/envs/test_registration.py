"""Names of environments in Gymnasium's registry, and in files, which `EnvironmentSpec.from_json` alone reads."""

import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.observations import bent_knee
from qwop.envs.qwop.rewards import rewards_along
from qwop.envs.registration import TASKS
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.champion import keys_path

from ..fakes import python

THEIRS = "import gymnasium\ngymnasium.register('QWOP-v1', entry_point='gymnasium.envs.classic_control:CartPoleEnv')\n"

OURS = """
from qwop.envs import EnvironmentSpec
from qwop.envs.vector import make_vector
for spec in (EnvironmentSpec("QWOP-v1"), EnvironmentSpec.from_json({"id": "qwop/QWOP-v1", "settings": {}})):
    print(type(spec.make().unwrapped).__name__, type(make_vector(spec, 2).unwrapped).__name__, spec.id)
print(type(gymnasium.make("qwop/QWOP-v1").unwrapped).__name__)
print(type(gymnasium.make("QWOP-v1").unwrapped).__name__)
"""


UNIMPORTED = """
print(type(gymnasium.make("qwop:QWOP-v1").unwrapped).__name__, type(gymnasium.make_vec("qwop:QWOP-v1", 2)).__name__)
"""


@pytest.mark.parametrize(
    ("imports", "printed", "short_name"),
    [
        ("import qwop\n" + THEIRS, [], "CartPoleEnv"),
        (THEIRS + "import qwop\n", [], "CartPoleEnv"),
        (UNIMPORTED, ["QWOPEnv QWOPVectorEnv"], "QWOPEnv"),
    ],
    ids=["ours first", "theirs first", "ours alone"],
)
def test_the_projects_own_files_mean_our_environment_whoever_else_has_the_name(
    imports: str, printed: list[str], short_name: str, tmp_path: Path
) -> None:
    done = python(f"import gymnasium\n{imports}{OURS}", tmp_path)
    assert done.stdout.splitlines() == [*printed, *["QWOPEnv QWOPVectorEnv QWOP-v1"] * 2, "QWOPEnv", short_name]


def test_a_finished_game_reaches_the_reward_threshold() -> None:
    threshold = gymnasium.spec("qwop/QWOP-v1").reward_threshold
    assert threshold is not None
    game = replay(read_keys(keys_path("champion")))
    x, y = game.states[::3, 0, 0], game.states[::3, 0, 1]
    assert rewards_along("speed", x, y, bent_knee(game.states[::3])).sum() >= threshold


@pytest.mark.parametrize(
    ("given", "stored"),
    [("CartPole", "CartPole-v1"), ("CartPole-v0", "CartPole-v0"), ("gymnasium:CartPole", "CartPole-v1"),
     ("QWOP", "QWOP-v1"), ("qwop/QWOP", "QWOP-v1"), ("qwop:QWOP", "QWOP-v1"), ("tests/Bare", "tests/Bare"),
     ("Unheard", "Unheard"), pytest.param("ALE/Pong", "ALE/Pong-v5", marks=pytest.mark.needs(module="ale_py"))],
)  # fmt: skip
def test_an_environment_is_stored_with_its_version(given: str, stored: str) -> None:
    bare = "tests/Bare"  # registered without a version
    gymnasium.register(bare, "gymnasium.envs.classic_control:CartPoleEnv")
    try:
        spec = EnvironmentSpec(given)
        assert spec.to_json() == {"id": stored, "settings": {}}
        assert EnvironmentSpec.from_json({"id": given.rpartition(":")[2], "settings": {}}) == spec
    finally:
        del gymnasium.registry[bare]


def test_minigrid_is_found_by_its_ids_alone() -> None:
    pytest.importorskip("minigrid")
    spaces = EnvironmentSpec("MiniGrid-Empty-5x5-v0").spaces
    assert spaces.actions == 7
    assert (spaces.action_names or ())[2] == "forward"


def read(id: Any, **settings: Any) -> EnvironmentSpec:
    return EnvironmentSpec.from_json({"id": id, "settings": settings})


@pytest.mark.parametrize(
    ("id", "settings"),
    [
        ("QWOP-v1", {"frames_per_step": 2, "reward": "race", "shaping": 0.7, "fall_penalty": 2.0, "delay": 0.3}),
        ("qwop/QWOP-v1", {}),
        ("QWOPRace-v1", {"runners": 1, "observation": "full", "frames_per_step": 2}),
        ("QWOPOriginal-v1", {"frames_per_step": 4, "time_limit": 3.0}),
        ("CartPole-v1", {"sutton_barto_reward": True}),
        ("LunarLander-v3", {"gravity": -9.5, "enable_wind": True, "continuous": False, "max_episode_steps": 500}),
        ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}),
        ("FrozenLake-v1", {"desc": ["SFH", "FFF", "HFG"], "reward_schedule": [1, 0, 0]}),
        ("Hopper-v5", {"healthy_z_range": [0.7, 2.0], "frame_skip": 4}),
        ("ALE/Pong-v5", {"obs_type": "grayscale", "frameskip": 4, "repeat_action_probability": 0.25, "mode": 0}),
        ("Nobodys/Environment-v0", {"size": 7}),
    ],
)
def test_settings_of_a_task_are_read(id: str, settings: dict[str, Any]) -> None:
    assert read(id, **settings) == EnvironmentSpec(id, settings)


@pytest.mark.parametrize("id", ["Größe-v0", "namespace/Name_", "_Name-v0", "Ниша/Имя.2-v10", "N" * 128])
def test_an_id_that_gymnasium_registers_is_read_again(id: str) -> None:
    gymnasium.register(id, "nowhere:Nothing")
    try:
        assert EnvironmentSpec.from_json(EnvironmentSpec(id).to_json()).id == id
    finally:
        gymnasium.registry.pop(id)


@pytest.mark.parametrize("id", ["N" * 129, "a/b/CartPole-v1", "Cart Pole-v1", ""])
def test_an_id_that_could_not_be_read_again_is_refused_before_it_is_written(id: str) -> None:
    with pytest.raises(BadInput, match="expected the id of a registered environment, such as QWOP-v1, of at most 128"):
        EnvironmentSpec(id)


@pytest.mark.parametrize("id", [*TASKS])
def test_the_originals_page_is_the_command_lines_alone(id: str) -> None:
    for name in ("browser", "folder", "url", "headless", "live", "timeout", "render_mode"):
        for value in ("xterm", True, 1, None):
            with pytest.raises(BadInput, match=f"{name}=.*: a file may not set that; it may set .*frames_per_step"):
                read(id, **{name: value})


NO_IDS = (
    "evil:CartPole-v1", "os:QWOP-v1", "qwop:evil:CartPole-v1", "../CartPole-v1", "a/b/CartPole-v1", "/bin/sh", "", " ",
    "Cart Pole-v1", "CartPole-v1\n", "\x1b[31mred", "CartPole-v1\0", "x" * 200, "CartPole-v" + "9" * 5000, 7, None,
    ["CartPole-v1"], {"id": "CartPole-v1"},
)  # fmt: skip
NO_TASKS: tuple[dict[Any, Any], ...] = (
    {"xml_file": "evil.xml"}, {"xml_file": "evil"}, {"env_id": "evil:Env-v0"}, {"entry_point": "os:system"},
    {"map_name": "/etc/passwd"}, {"map_name": "a.b"}, {"map_name": "os:system"}, {"map_name": "x" * 100},
    {"obs_type": "http://example.org"}, {"wrappers": []}, {"vectorization_mode": "async"}, {"id": 1},
    {"num_envs": 10**5}, {"width": 100_000}, {"gravity": float("nan")}, {"gravity": float("inf")},
    {"frame_skip": 10**9}, {"size": -(10**400)}, {"desc": ["S"] * 1000}, {"desc": [["S"]]}, {"config": {}},
    {"config": {"a": {"b": 1}}}, {"__class__": 1}, {"a b": 1}, {"": 1}, {"x" * 100: 1}, {7: 1}, {"f": b"bytes"},
)  # fmt: skip
WRONG_TASKS = ({"frames_per_step": "3"}, {"time_limit": 1e6}, {"delay": [0.1]}, {"observation": None})
MANY = {f"a{number}": 1 for number in range(65)}
NO_ENVIRONMENTS = (None, [], "QWOP-v1", {}, {"id": "QWOP-v1"}, {"id": "QWOP-v1", "settings": [1]},
                   {"id": "CartPole-v1", "settings": MANY})  # fmt: skip


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        *(({"id": id, "settings": {}}, "expected the id of a registered environment") for id in NO_IDS),
        *(({"id": "Hopper-v5", "settings": one}, "may not set that; register an environment") for one in NO_TASKS),
        *(({"id": "QWOP-v1", "settings": one}, "QWOP-v1") for one in WRONG_TASKS),
        *((one, "expected") for one in NO_ENVIRONMENTS),
    ],
)
def test_what_is_no_environment_in_a_file_is_refused(data: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        EnvironmentSpec.from_json(data)


def test_of_a_files_settings_those_that_it_may_set_are_read_where_others_are_overridden_and_those_are_stored() -> None:
    settings = {"folder": "/theirs", "frames_per_step": 4}
    data = {"id": "QWOPOriginal-v1", "settings": settings}
    assert EnvironmentSpec.from_json(data, overrides=[*settings]).settings == {"frames_per_step": 4}
    assert EnvironmentSpec("QWOPOriginal-v1", settings).to_json()["settings"] == {"frames_per_step": 4}


@pytest.mark.parametrize("id", ["evil", "evil/CartPole-v1", "evil.CartPole-v1", "evil:CartPole-v1"])
def test_reading_imports_nothing_that_the_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id: str) -> None:
    (tmp_path / "evil.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput):
        read(id).make()
    assert "evil" not in sys.modules
