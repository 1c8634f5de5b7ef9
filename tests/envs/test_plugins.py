"""Environments of installed packages that are found without an import."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import gymnasium
import pytest
from qwop.envs import registration
from qwop.envs.spec import EnvironmentSpec


def registers() -> None:
    gymnasium.register("Declared-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    registration._load_entry_points.cache_clear()
    yield
    registration._load_entry_points.cache_clear()
    for id in ("Declared-v0", "mine/Declared-v0"):
        gymnasium.registry.pop(id, None)


@pytest.mark.parametrize(
    ("group", "name", "id"),
    [
        ("gymnasium.envs", "__root__", "Declared-v0"),
        ("gymnasium.envs.__root__", "any", "Declared-v0"),
        ("gymnasium.envs", "mine", "mine/Declared-v0"),
    ],
)
def test_packages_that_declare_gymnasiums_entry_point_are_found(
    group: str, name: str, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = EntryPoint("broken", "no_such_module:function", "gymnasium.envs")
    declared = EntryPoint(name, f"{__name__}:registers", group)
    monkeypatch.setattr(EntryPoint, "load", lambda one: registers if one == declared else 1 / 0)
    found = EntryPoints([broken, declared])

    def entry_points(**chosen: Any) -> EntryPoints:
        return found.select(**chosen)

    monkeypatch.setattr(registration, "entry_points", entry_points)
    assert EnvironmentSpec(id).interface()[1] == 2


def test_minigrid_is_found_by_its_ids_alone() -> None:
    pytest.importorskip("minigrid")
    spec = EnvironmentSpec("MiniGrid-Empty-5x5-v0")
    assert spec.interface()[1] == 7
    assert (spec.action_names() or ())[2] == "forward"
