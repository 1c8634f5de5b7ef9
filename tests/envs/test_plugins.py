"""Environments of installed packages that are found without an import."""

import pytest
from qwop.envs.spec import EnvironmentSpec


def test_minigrid_is_found_by_its_ids_alone() -> None:
    pytest.importorskip("minigrid")
    spec = EnvironmentSpec("MiniGrid-Empty-5x5-v0")
    assert spec.interface()[1] == 7
    assert (spec.open().action_names or ())[2] == "forward"
