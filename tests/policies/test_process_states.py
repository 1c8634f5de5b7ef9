"""Networks, their files and their decisions are the same whatever the process has set for PyTorch."""

from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Values
from qwop.policies.policy import Policy

from ..process_states import STATES, process_state
from .test_files import NETWORKS, SEEN


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
