"""Policy files: what comes back, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import METADATA, load_policy, save_policy
from qwop.policies.networks import Actor, ActorCritic, Network, ValuedActor, Values
from qwop.policies.policy import Policy
from qwop.policies.q_networks import EnsembleQ, QNetwork
from qwop.policies.recurrent import RecurrentActorCritic, TwoTimescaleActorCritic
from qwop.policies.seal import seal, with_room
from safetensors import safe_open
from safetensors.torch import save_file

CARTPOLE = EnvironmentSpec("CartPole-v1")
SEEN, PICTURE = ObservationSpec((4,)), ObservationSpec((36, 36), "uint8")
NETWORKS: dict[str, Callable[[torch.Generator], Network]] = {
    "actor-critic": lambda random: ActorCritic(SEEN, 3, (16,), random),
    "actor": lambda random: Actor(SEEN, 3, (16,), random),
    "valued-actor": lambda random: ValuedActor(SEEN, 3, (16,), random),
    "pictures": lambda random: ActorCritic(PICTURE, 3, (16,), random, "nips"),
    "dueling-q": lambda random: QNetwork(SEEN, 3, (16,), random, dueling=True, layer_norm=True),
    "ensemble-q": lambda random: EnsembleQ(SEEN, 3, (16,), random, members=2),
    "recurrent": lambda random: RecurrentActorCritic(SEEN, 3, (16,), 8, random),
    "external memory": lambda random: TwoTimescaleActorCritic(SEEN, 3, (16,), 8, 4, 2, random, 5),
}


def make_policy() -> Policy:
    network = ActorCritic(71, 11, generator=torch.Generator().manual_seed(0))
    network.scaler.fit(np.random.default_rng(0).normal(3, 2, size=(50, 71)))
    return Policy(network, EnvironmentSpec("QWOP-v1", {"frames_per_step": 3}), ObservationSpec((71,)), {"seed": 7})


@pytest.mark.parametrize("name", NETWORKS)
def test_a_saved_policy_comes_back_whole(name: str, tmp_path: Path) -> None:
    network: Any = NETWORKS[name](torch.Generator().manual_seed(0))
    values = Values(SEEN, (8,), torch.Generator().manual_seed(1)) if name == "actor" else None
    policy = Policy(network, CARTPOLE, network.observation, {"seed": 7}, values, greedy=False, sharpness=0.5)
    network.scaler.fit(np.random.default_rng(0).normal(3, 2, size=(50, network.observation.size)))
    if hasattr(network, "epsilon"):
        network.epsilon.fill_(0.25)
    loaded = load_policy(save_policy(tmp_path / "new" / "p.safetensors", policy))
    assert type(loaded.network) is type(network)
    assert (loaded.environment, loaded.observation) == (policy.environment, policy.observation)
    assert (loaded.training, loaded.greedy, loaded.sharpness) == ({"seed": 7}, False, 0.5)
    for part, tensor in network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[part], tensor)
    assert (loaded.values is None) is (policy.values is None)
    if policy.values is not None and loaded.values is not None:
        scaled = torch.randn(7, 4)
        assert torch.equal(loaded.values(scaled), policy.values(scaled))


def test_a_network_of_another_type_is_saved_as_float32(tmp_path: Path) -> None:
    policy = make_policy()
    policy.network.double()
    loaded = load_policy(save_policy(tmp_path / "p", policy))
    assert {one.dtype for one in loaded.network.parameters()} == {torch.float32}


def test_values_of_other_widths_than_described_are_refused(tmp_path: Path) -> None:
    policy = Policy(Actor(4, 3, (8,)), CARTPOLE, ObservationSpec((4,)), values=Values(4, (12,)))
    path = save_policy(tmp_path / "p", policy)
    for values in ({"hidden": [13]}, {"hidden": "12"}, {}, 12):
        assert "SHA-256" not in refused(rewritten(path, values=values))


def test_equal_policies_give_equal_bytes_and_leave_nothing_beside(tmp_path: Path) -> None:
    one, two = save_policy(tmp_path / "1", make_policy()), save_policy(tmp_path / "2", make_policy())
    assert one.read_bytes() == two.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_the_file_says_what_it_is_to_any_reader_of_safetensors(tmp_path: Path) -> None:
    document, _ = read(save_policy(tmp_path / "p", make_policy()))
    assert document["architecture"] == {"name": "actor-critic", "hidden": [256, 128]}
    assert document["environment"] == {"id": "QWOP-v1", "settings": {"frames_per_step": 3}}
    assert document["software"].startswith("qwop ")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "p", make_policy())
    before = path.read_bytes()
    unsayable = Policy(ActorCritic(71, 11), EnvironmentSpec(), ObservationSpec((71,)), {"seed": object()})
    with pytest.raises(TypeError):
        save_policy(path, unsayable)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def refused(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load_policy(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder"),
        (lambda path: path.write_bytes(b""), "not a safetensors file"),
        (lambda path: path.write_bytes(b"hello, this is text and not a policy"), "not a safetensors file"),
        (lambda path: path.write_bytes(b"\x00" * 64), "not a safetensors file"),
        (lambda path: save_policy(path, make_policy()).write_bytes(path.read_bytes()[:-100]), "not a safetensors file"),
        (lambda path: save_file({"w": torch.zeros(2)}, path), "without the description of a policy"),
    ],
    ids=["missing", "folder", "empty", "text", "zeros", "torn", "weights alone"],
)
def test_what_is_no_policys_file_is_refused(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    make(tmp_path / "p.safetensors")
    assert said in refused(tmp_path / "p.safetensors")


def write(path: Path, tensors: dict[str, torch.Tensor], document: dict[str, object]) -> Path:
    """A policy's file with this description, and the digest that is right for it."""
    save_file(tensors, path, {METADATA: json.dumps(document)})
    with path.open("rb+") as file:
        seal(file)
    return path


def test_a_file_with_any_bit_flipped_is_refused(tmp_path: Path) -> None:
    policy = Policy(Actor(4, 3, (8,)), CARTPOLE, ObservationSpec((4,)), {"seed": 7})
    whole = save_policy(tmp_path / "p", policy).read_bytes()
    for bit in range(0, 8 * len(whole), 7):
        altered = bytearray(whole)
        altered[bit // 8] ^= 1 << bit % 8
        (tmp_path / "p").write_bytes(altered)
        refused(tmp_path / "p")


def test_a_file_that_was_altered_or_goes_on_says_so(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "p", make_policy())
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'seed\\": 7', b'seed\\": 8'))
    assert "it was altered or cut: its SHA-256 is" in refused(path)
    path.write_bytes(whole.replace(b"sha256", b"sha257"))
    assert "its header does not begin with a digest" in refused(path)


@pytest.mark.parametrize("sealed", [True, False])
def test_a_description_with_doubled_names_says_so_with_a_digest_or_without(tmp_path: Path, sealed: bool) -> None:
    text = '{"format": 1, "actions": 3, "actions": 4}'
    save_file({"w": torch.zeros(2)}, tmp_path / "p", {METADATA: with_room(text) if sealed else text})
    if sealed:
        with (tmp_path / "p").open("rb+") as file:
            seal(file)
    assert "twice" in refused(tmp_path / "p")


def read(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        return json.loads(file.metadata()[METADATA]), tensors


def rewritten(path: Path, **changes: object) -> Path:
    """The policy of `path` with its description changed."""
    document, tensors = read(path)
    return write(path, tensors, {**document, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"observation_shape": [70]}, "scaler.mean: float32 [71], expected float32 [70]"),
        ({"actions": 5}, "policy_head.bias: float32 [11], expected float32 [5]"),
        ({"architecture": {"name": "actor-critic", "hidden": [256]}}, "expected float32 [11, 256]"),
        ({"architecture": {"name": "transformer"}}, "architecture transformer, expected actor-critic or actor or "),
        ({"architecture": {"name": "q", "hidden": [8], "dueling": "yes", "layer_norm": True}}, "dueling yes: "),
        ({"architecture": {"name": "actor", "hidden": [8], "convolutions": "deep"}}, "convolutions deep: "),
        ({"architecture": {"name": "actor"}}, "hidden"),
        ({"architecture": {}}, "it lacks 'name'"),
        ({"format": 99}, "format 99: "),
        ({"sharpness": 0}, "sharpness 0: "),
        ({"sharpness": True}, "sharpness true: "),
        ({"environment": None}, "environment is null"),
        ({"observation_dtype": "uint8"}, "tensor scaler.mean: float32 [71], expected none"),
        # Nothing is made of a size that the weights do not have.
        ({"architecture": {"name": "actor-critic", "hidden": [100_000_000]}}, "100000000"),
        ({"architecture": {"name": "actor-critic", "hidden": [65_536, 65_536]}}, "expected"),
        ({"architecture": {"name": "actor-critic", "hidden": [1] * 100_000}}, "hidden"),
        ({"architecture": {"name": "ensemble-q", "hidden": [256], "members": 10**9}}, "members"),
        ({"observation_shape": [2**40]}, "expected"),
        ({"actions": 10**9}, "actions"),
    ],
)
def test_a_description_that_does_not_fit_the_weights_is_refused(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    assert said in refused(rewritten(save_policy(tmp_path / "p", make_policy()), **changes))


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_weights_that_are_not_finite_or_of_another_type_are_refused(tmp_path: Path, number: float) -> None:
    policy = make_policy()
    path = save_policy(tmp_path / "p", policy)
    document, tensors = read(path)
    write(path, {name: one.double() for name, one in tensors.items()}, document)
    assert "float64 [11], expected float32 [11]" in refused(path)
    with torch.no_grad():
        policy.network.q_head.bias[3] = number
    assert "q_head.bias: not finite" in refused(save_policy(path, policy))


def test_a_file_cannot_name_a_program_and_the_command_line_can(tmp_path: Path) -> None:
    environment = {"id": "QWOPOriginal-v1", "settings": {"frames_per_step": 3, "browser": "/bin/sh"}}
    path = rewritten(save_policy(tmp_path / "p", make_policy()), environment=environment)
    assert "browser=/bin/sh: a file may not set that" in refused(path)
    assert load_policy(path, overrides=["browser"]).environment.settings == {"frames_per_step": 3}


def test_a_file_that_could_not_be_loaded_is_not_written(tmp_path: Path) -> None:
    maze = EnvironmentSpec("Maze-v0", {"level": "caves"})
    with pytest.raises(BadInput, match=r"level=caves: a file may not set that; register an environment that has it"):
        save_policy(tmp_path / "p", Policy(Actor(4, 3, (8,)), maze, ObservationSpec((4,))))
    assert not (tmp_path / "p").exists()
