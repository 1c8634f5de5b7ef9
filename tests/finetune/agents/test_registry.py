"""Algorithms of one's own: their registration, their settings and their runs."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from qwop.commands import finetune
from qwop.common.errors import BadInput
from qwop.common.help import sentences
from qwop.common.settings import read, to_plain
from qwop.finetune import settings as finetune_settings
from qwop.finetune.agents import registry
from qwop.finetune.agents.settings import Discounted, LiveSettings
from qwop.policies.networks import ActorCritic

LINE = ("algorithm=own", "schedule=live-only", "environment=CartPole-v1")


class OwnSettings(Discounted):
    """Mine."""

    speed: float = 1.0
    """Speed of the agent."""


class OwnLoopSettings(LiveSettings):
    num_envs: int = 3


@pytest.fixture
def own() -> Iterator[Any]:
    """Registers the algorithm `own`, and forgets it afterwards."""

    def register(**more: Any) -> None:
        registry.register_algorithm(
            **{"name": "own", "settings": OwnSettings, "loop": OwnLoopSettings, "agent": lambda run: run, **more}
        )

    yield register
    for name in registry.ALGORITHMS.keys() - registry.BUILT_IN:
        del registry.ALGORITHMS[name]
    finetune_settings.offer_algorithms()


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN))
def test_defaults_are_within_their_own_bounds(name: str) -> None:
    algorithm = registry.ALGORITHMS[name]
    for kind in (algorithm.settings, algorithm.loop):
        assert read(kind, to_plain(kind())) == kind()


def test_a_registered_algorithm_has_its_settings_in_the_command_line(own: Any) -> None:
    assert "own" not in finetune.groups["algorithm"].options  # and a line may have been read before
    own()
    chosen = finetune.read([*LINE, "algorithm.speed=2.5", "loop.steps=4"])
    assert (chosen.algorithm.speed, chosen.loop.num_envs, chosen.loop.steps) == (2.5, 3, 4)
    assert to_plain(chosen)["algorithm"]["name"] == "own"
    assert "name" not in to_plain(chosen)["loop"]
    assert chosen.chosen_algorithm.build(SimpleNamespace(policy=1)).policy == 1
    assert sentences(type(chosen.algorithm))["speed"] == "Speed of the agent."
    with pytest.raises(BadInput, match=r"algorithm\.sped: no such setting; did you mean algorithm\.speed\?"):
        finetune.read([*LINE, "algorithm.sped=2"])


def test_a_phase_may_change_to_it(own: Any) -> None:
    own()
    later = "+schedule.phases.later={decisions: 10, algorithm: {name: own, speed: 3}}"
    chosen = finetune.read(["schedule=live-only", "environment=CartPole-v1", "algorithm=ppo", later])
    assert [type(algorithm).__name__ for algorithm, _ in chosen.trained_by] == ["PpoSettings", "OwnSettings"]


def test_it_may_be_registered_again_with_other_settings_whose_widths_a_new_network_has(own: Any) -> None:
    class Wide(OwnSettings):
        hidden: tuple[int, ...] = (5, 3)

    for settings, widths in ((OwnSettings, (64, 64)), (Wide, (5, 3))):
        own(settings=settings)
        chosen = finetune.read([*LINE])
        network = chosen.chosen_algorithm.new_network(chosen.algorithm, 4, 2, torch.Generator())
        assert isinstance(network, ActorCritic)
        assert network.hidden == widths


@pytest.mark.parametrize("name", ["acer", "", "My algorithm", "a.b"])
def test_a_name_that_is_none_or_taken_is_refused(own: Any, name: str) -> None:
    with pytest.raises(BadInput, match="register_algorithm: name="):
        own(name=name)
    assert registry.ALGORITHMS.keys() == registry.BUILT_IN


MODULE = """
from qwop.algorithms import AlgorithmSettings, register_algorithm

class Settings(AlgorithmSettings):
    "Mine."

register_algorithm("mine", settings=Settings, agent=print)
"""


@pytest.mark.parametrize("way", ["setting", "variable", "package"])
def test_a_module_is_found(way: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    if way == "package":
        (tmp_path / "mine-1.dist-info").mkdir()
        (tmp_path / "mine-1.dist-info/METADATA").write_text("Name: mine\nVersion: 1\n")
        (tmp_path / "mine-1.dist-info/entry_points.txt").write_text("[qwop.algorithms]\nmine = mine\n")
    code = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        f"os.environ.update({ {'QWOP_IMPORTS': 'mine'} if way == 'variable' else {} })\n"
        "from qwop.commands import finetune\n"
        f"words = {['imports=[mine]'] if way == 'setting' else []}\n"
        "words += ['algorithm=mine', 'schedule=live-only', 'environment=CartPole-v1']\n"
        "print(finetune.read(words).algorithm.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "mine\n", done.stderr


def test_a_package_whose_module_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("mine", "no_such_module:algorithm", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [broken])
    with pytest.raises(BadInput, match="the algorithm mine of no_such_module:algorithm cannot be imported"):
        registry.import_algorithms()
