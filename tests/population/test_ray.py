"""A population on Ray, in real processes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.policies.files import load_policy

Command = Callable[..., Any]

pytestmark = [pytest.mark.needs(module="ray"), pytest.mark.slow]  # processes that import PyTorch


@pytest.fixture(autouse=True)
def cluster() -> Iterator[None]:
    import ray

    yield
    ray.shutdown()


def test_rounds_in_other_processes_end_as_the_serial_ones_though_a_worker_dies(
    grown: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray
    from qwop.finetune.distributed.actors import RayEngine

    settings = ("rounds=2", "evaluation.games=0")
    grown(*settings, "out=serial")
    launch = RayEngine.launch
    launched: list[Any] = []

    def remember(self: RayEngine, *arguments: object) -> object:
        launched.append(launch(self, *arguments))  # type: ignore[arg-type]
        if len(launched) == 1:
            ray.get(launched[0].__ray_ready__.remote())  # killed any earlier, Ray may keep its core occupied
            ray.kill(launched[0])
        return launched[-1]

    monkeypatch.setattr(RayEngine, "launch", remember)
    grown(*settings, "+distributed=ray", "distributed.actors=2", "out=ray")
    assert len(launched) == 3
    serial, other = (load_policy(tmp_path / out / "best.safetensors").network.state_dict() for out in ("serial", "ray"))
    assert all(torch.equal(serial[name], other[name]) for name in serial)
