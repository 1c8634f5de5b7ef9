"""Policies in the page, against PyTorch."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec
from qwop.play.site import acting_part
from qwop.policies.champion import policy_path
from qwop.policies.files import ARCHITECTURES, load_policy, save_policy
from qwop.policies.networks import Network
from qwop.policies.policy import Policy
from qwop.policies.rollout import play

InNode = Callable[..., Any]


def games(in_node: InNode, file: bytes, starts: list[int], most: int) -> Any:
    return in_node("decisions.js", "gamesOf", base64.b64encode(file).decode(), starts, most)


def wanted(policy: Policy, starts: list[int]) -> list[list[int]]:
    played = play(policy, episodes=len(starts), seed=0, greedy=True, num_envs=len(starts), idle_frames=starts)
    return [np.concatenate(game.keys or ()).tolist() for game in played]


def test_the_champion_plays_as_in_pytorch(in_node: InNode) -> None:
    starts = [0, 300]
    file = acting_part(policy_path("champion"))
    assert games(in_node, file, starts, 3000) == wanted(load_policy("champion"), starts)


NETWORKS: dict[str, dict[str, Any]] = {
    "actor-critic": {"hidden": [24, 16]},
    "actor": {"hidden": [24]},
    "valued-actor": {"hidden": [24, 16]},
    "q": {"hidden": [24, 16], "dueling": True, "layer_norm": False},
    "q with layer norm": {"hidden": [24, 16], "dueling": True, "layer_norm": True},
    "ensemble-q": {"hidden": [24, 16], "members": 3},
}


def made(name: str, spec: EnvironmentSpec, description: dict[str, Any], seed: int) -> Policy:
    """A policy with random weights and statistics, which changes its mind often."""
    generator = torch.Generator().manual_seed(seed)
    observation, actions = spec.interface()
    network: Network = ARCHITECTURES[name.partition(" ")[0]](observation, actions, **description)
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.5)
        network.scaler.std.copy_(0.1 * torch.rand(network.scaler.std.shape, generator=generator) + 0.05)
        network.scaler.mean.copy_(torch.randn(network.scaler.mean.shape, generator=generator))
    return Policy(network, spec, observation)


@pytest.mark.parametrize(
    ("name", "seed", "settings"),  # seeds of weights with which the runner does several things
    [
        ("actor-critic", 1, {"frames_per_step": 4, "observation_lag": 1}),
        ("actor", 5, {"frames_per_step": 2, "observation": "full"}),
        ("valued-actor", 4, {"frames_per_step": 1, "observation": "contact", "observation_lag": 1}),
        ("q", 5, {}),
        ("q with layer norm", 1, {"observation": "contact"}),
        ("ensemble-q", 7, {"frames_per_step": 3, "observation": "full"}),
    ],
)
def test_every_feed_forward_network_plays_as_in_pytorch(
    in_node: InNode, tmp_path: Path, name: str, seed: int, settings: dict[str, Any]
) -> None:
    policy = made(name, EnvironmentSpec("QWOP-v1", {"time_limit": 4.0, **settings}), NETWORKS[name], seed)
    file = save_policy(tmp_path / "policy.safetensors", policy).read_bytes()
    for found, keys in zip(games(in_node, file, [0, 5], 120), wanted(policy, [0, 5]), strict=True):
        assert len({*keys}) > 2
        assert found[: len(keys)] == keys[: len(found)]
        assert min(len(keys), len(found)) > 40


def test_what_the_page_cannot_play_is_refused_in_a_line(in_node: InNode, tmp_path: Path) -> None:
    def saved(name: str, spec: EnvironmentSpec, description: dict[str, Any]) -> bytes:
        observation, actions = spec.interface()
        network: Network = ARCHITECTURES[name.partition(" ")[0]](observation, actions, **description)
        return save_policy(tmp_path / "p.safetensors", Policy(network, spec, observation)).read_bytes()

    pictures = EnvironmentSpec("QWOP-v1", {"observation": "pixels", "size": 36})
    good = saved("actor", EnvironmentSpec("QWOP-v1"), {"hidden": [8]})
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])

    def with_header(**entries: Any) -> bytes:
        text = json.dumps({**header, **entries}).encode()
        return len(text).to_bytes(8, "little") + text + good[8 + length :]

    def changed(**description: Any) -> bytes:
        return with_header(__metadata__={"policy": json.dumps({**told, **description})})

    def entries(**of_mean: Any) -> bytes:
        return with_header(**{"scaler.mean": {**header["scaler.mean"], **of_mean}})

    told = json.loads(header["__metadata__"]["policy"])

    def settings(**given: Any) -> bytes:
        return changed(environment={**told["environment"], "settings": {**told["environment"]["settings"], **given}})

    whole = header["scaler.mean"]["data_offsets"]
    many = {f"more.{number}": header["scaler.mean"] for number in range(1000)}
    files = {
        changed(environment=None): "not a policy file",
        changed(environment={"id": "a\nb" * 1000, "settings": {}}): "plays a b",
        changed(architecture=None): "unknown",
        changed(architecture={"name": "constructor", "hidden": [8]}): "unknown",
        changed(architecture={"name": "ensemble-q", "hidden": [8], "members": 1e9}): "does not fit",
        changed(architecture={"name": "ensemble-q", "hidden": [8], "members": "3"}): "its description",
        changed(architecture={"name": "actor", "hidden": [-8]}): "its description",
        changed(architecture={"name": "actor", "hidden": [9]}): "does not fit its architecture",
        changed(observation_shape={"length": 1, "0": 71}): "its description",
        changed(actions=3): "its description",
        settings(frames_per_step=1e15): "its description",
        settings(observation_lag={}): "its description",
        **{entries(data_offsets=value): "damaged" for value in (None, [0, 1.5], [-4, 280])},
        entries(shape=[2**40, 2**40]): "damaged",
        entries(data_offsets=[whole[0] + 2**40, whole[1] + 2**40]): "is damaged",
        with_header(**many): "is damaged",
        saved("recurrent-actor-critic", EnvironmentSpec("QWOP-v1"), {"hidden": [8], "memory": 4}): "has a memory",
        saved("actor", pictures, {"hidden": [8]}): "sees pictures",
        saved("actor", EnvironmentSpec("CartPole-v1"), {"hidden": [8]}): "plays CartPole-v1, not QWOP",
        good[:-40]: "is damaged",
        good[:30]: "not a policy file",
        b"PK\3\4 a zip file of some length": "not a policy file",
        good[: 8 + length] + b"\xff" * (len(good) - 8 - length): "is damaged",
    }
    said = in_node("packed_games.js", "policiesRefused", [base64.b64encode(file).decode() for file in files])
    for text, why in zip(said, files.values(), strict=True):
        assert isinstance(text, str), why
        assert why in text
        assert "\n" not in text
        assert len(text) < 200
