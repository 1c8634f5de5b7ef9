"""The device of the learner by name, and learning on it; networks, their files and their decisions are the same
whatever the process has set for PyTorch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.datasets.arrays import write_episode
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.devices import choose_device, in_float64
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Values
from qwop.policies.policy import Policy
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
from torch import Tensor

from ..process_states import STATES, process_state
from .test_files import NETWORKS, SEEN

GPUS = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
HERE = [
    pytest.param(name, marks=[pytest.mark.gpu, pytest.mark.skipif(not found, reason=f"needs {name}")])
    for name, found in GPUS.items()
]


@pytest.mark.parametrize("name", [name for name, found in GPUS.items() if not found])
def test_a_device_that_is_not_here_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"device={name}: no .* here; device=auto"):
        choose_device(name)


def test_auto_takes_a_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


@pytest.mark.parametrize("name", HERE)
def test_a_clone_of_a_gpu_is_the_same_but_for_rounding(name: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for _ in range(4):
        write_episode(tmp_path, random.normal(size=(31, 4)), random.integers(2, size=30), environment="CartPole-v1")
    games, info = list(open_dataset(tmp_path)), open_dataset(tmp_path).info
    settings = CloningSettings(epochs=2, hidden=(16,), input_noise=0.1)
    here, there = (clone(games, info, settings, device=torch.device(device)) for device in ("cpu", name))
    rows = games[0].observations
    np.testing.assert_allclose(here.probabilities(rows), there.probabilities(rows), atol=1e-3)


class OnApplesGpu(Tensor):
    """A tensor that says that it is on an Apple GPU, where float64 raises."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("mps")

    def cpu(self, *_: Any, **__: Any) -> Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            return self.as_subclass(Tensor)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), more: Any = None) -> Any:
        found = super().__torch_function__(function, types, arguments, more or {})
        if isinstance(found, cls) and found.dtype == torch.float64:
            raise TypeError("float64 on an Apple GPU")
        return found


def test_an_apple_gpu_leaves_float64_to_the_cpu() -> None:
    numbers = torch.tensor([[1.0, 1.0], [3.0, 1.0], [4.0, 1.0]])
    found = in_float64(numbers.as_subclass(OnApplesGpu))
    assert torch.equal(found.as_subclass(Tensor), numbers.double())


# What the process has set for PyTorch


def made(name: str) -> Policy:
    network = NETWORKS[name](torch.Generator().manual_seed(0))
    values = Values(SEEN, (8,), torch.Generator().manual_seed(1)) if name == "actor" else None
    return Policy(network, EnvironmentSpec("CartPole-v1"), network.observation, values=values)


def decisions(policy: Policy) -> bytes:
    """Probabilities of three decisions, and the state that follows them."""
    random = np.random.default_rng(0)
    state, found = policy.initial_state(5), b""
    for _ in range(3):
        rows = random.normal(100, 50, size=(5, *policy.observation.shape)).astype(policy.observation.dtype)
        probabilities, state = policy.step(rows, state)
        state = policy.feed(state, probabilities.argmax(1), rows.reshape(5, -1)[:, 0].astype(np.float32))
        found += probabilities.tobytes() + b"".join(part.tobytes() for part in state)
    return found


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_made_saved_loaded_and_played_as_ever(name: str, state: str, tmp_path: Path) -> None:
    plain = save_policy(tmp_path / "plain", made(name))
    with process_state(state):
        policy = made(name)
        path = save_policy(tmp_path / "there", policy)
        played = [decisions(policy), decisions(load_policy(plain))]
    assert path.read_bytes() == plain.read_bytes()
    assert played == [decisions(load_policy(path))] * 2
    weights = load_policy(path).network.state_dict().values()
    assert {one.device.type for one in weights} == {"cpu"}
    assert not any(one.is_inference() for one in policy.network.parameters())
