"""The settings of a population, as they are typed."""

from pathlib import Path

import pytest
from qwop.commands import population as main
from qwop.common import imports
from qwop.common.errors import BadInput


@pytest.mark.parametrize(
    ("typed", "id", "race"),
    [
        ("qwop:QWOPRace-v1", "QWOPRace-v1", True),
        ("qwop/QWOPRace-v1", "QWOPRace-v1", True),
        ("gymnasium.envs.classic_control:CartPole-v1", "CartPole-v1", False),
    ],
)
def test_an_environment_is_the_same_with_its_module_in_front(
    typed: str, id: str, race: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(imports.VARIABLE, "")
    settings = main.read([f"environment={typed}"])
    assert (settings.environment, settings.is_race, settings.task.id) == (id, race, id)


def test_ppo_agents_that_learn_from_one_decision_at_once_are_refused() -> None:
    one = ["work.steps=1"]
    main.read(["agent=vtrace", *one])
    with pytest.raises(BadInput, match=r"work\.steps=1: expected"):
        main.read(one)
