"""Distillation of policies that a learner cannot continue."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents import distillation
from qwop.finetune.agents.dqn.agent import TAUGHT_COPIES, _teaching
from qwop.finetune.agents.q_learning import demonstrated_transitions
from qwop.finetune.agents.rlpd.settings import RlpdSettings
from qwop.finetune.agents.vtrace import distillation as recurrent_distillation
from qwop.finetune.checkpoint import checkpoints
from qwop.finetune.experience.sequences import DEMONSTRATIONS
from qwop.finetune.loop import Observer
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic, Network
from qwop.policies.policy import Policy
from qwop.policies.q_networks import QNetwork
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.two_timescale import TwoTimescaleActorCritic
from qwop.pretrain.rows import rows_of

SPEC = EnvironmentSpec("CartPole-v1")


@pytest.fixture(autouse=True)
def little_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distillation, "DECISIONS", 300)
    monkeypatch.setattr(distillation, "UPDATES", 60)
    monkeypatch.setattr(recurrent_distillation, "UPDATES", 2)


def network(kind: str) -> Network:
    generator = torch.Generator().manual_seed(0)
    if kind == "q":
        return QNetwork(4, 2, (16,), generator)
    if kind == "two-timescale":
        return TwoTimescaleActorCritic(4, 2, (16,), 8, 4, generator=generator)
    return RecurrentActorCritic(4, 2, (16,), 8, generator)


def run_of(policy: Policy) -> Any:
    """A run, as far as distillation needs one."""
    settings = SimpleNamespace(seed=0, max_idle_frames=0)
    environments = SimpleNamespace(specs=(policy.environment,))
    return SimpleNamespace(policy=policy, settings=settings, environments=environments, observer=Observer())


def test_own_play_is_whole_games_with_the_probabilities_that_actions_were_drawn_with() -> None:
    rows = rows_of(distillation.own_play(run_of(Policy(network("recurrent"), SPEC, ObservationSpec((4,))))))
    assert len(rows) >= 300
    assert rows.probabilities is not None
    np.testing.assert_allclose(rows.probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (rows.previous == -1).sum() % distillation.AT_ONCE == 0  # games are whole


def test_transitions_of_own_play_are_its_games_as_demonstrations() -> None:
    games = distillation.own_play(run_of(Policy(network("q"), SPEC, ObservationSpec((4,)))))[:3]
    games[1] = replace(games[1], terminated=False, truncated=True)
    shown = demonstrated_transitions(games, RlpdSettings(n_steps=2), 0.5)
    assert len(shown) == sum(map(len, games))
    assert (shown.source == DEMONSTRATIONS).all()
    ends = np.cumsum([len(game) for game in games]) - 1
    assert shown.rewards[ends].tolist() == [1.0, 1.0, 1.0]
    assert shown.discounts[ends].tolist() == [0.0, 0.5, 0.0]  # only a truncated game has a value after its end
    np.testing.assert_array_equal(shown.next_observations[ends[1]], games[1].observations[-1])
    assert shown.rewards[0] == 1.5
    assert shown.discounts[0] == 0.25


@pytest.mark.parametrize("algorithm", ["rlpd-small", "dqn-small", "ddqn"])
def test_q_values_are_distilled_until_they_choose_as_the_policy_does(
    finetune: Callable[..., Any], tmp_path: Path, algorithm: str
) -> None:
    generator = torch.Generator().manual_seed(0)
    actor = ActorCritic(4, 2, (16,), generator)
    with torch.no_grad():
        actor.policy_head.weight.zero_()
        actor.policy_head.bias.copy_(torch.tensor([0.0, 9.0]))  # right, whatever it sees
    save_policy(tmp_path / "policy.safetensors", Policy(actor, SPEC, ObservationSpec((4,))))
    done = finetune(
        "policy=policy.safetensors", f"algorithm={algorithm}", "schedule=live-only", "schedule.decisions=160",
        "algorithm.epsilon_start=0", "algorithm.epsilon_end=0", "loop.start=1000",
        "evaluation.episodes=0", "video=false", "out=run",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "in 100% of which it chooses alike" in done.out
    after = load_policy(tmp_path / "run" / "policy.safetensors")
    assert after.network.architecture in ("q", "dueling-q", "ensemble-q")
    actions, _ = after.act(np.random.default_rng(0).normal(0, 0.02, (20, 4)).astype(np.float32))
    assert (actions == 1).all()


def test_a_target_network_follows_while_dqn_is_taught() -> None:
    done: list[str] = []
    learner = SimpleNamespace(copy_target=lambda: done.append("copy"), update=lambda *_: done.append("update"))
    update = _teaching(learner)  # type: ignore[arg-type]
    for _ in range(TAUGHT_COPIES + 1):
        update(np.zeros(3), None)  # type: ignore[arg-type]
    assert done == ["copy", *["update"] * TAUGHT_COPIES, "copy", "update"]


@pytest.mark.parametrize(("algorithm", "module"), [("rlpd", distillation), ("vtrace", recurrent_distillation)])
def test_a_later_algorithm_distils_once_when_its_phase_begins(
    finetune: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str, module: Any
) -> None:
    played: list[Any] = []
    play = distillation.own_play
    monkeypatch.setattr(module, "own_play", lambda run: played.append(run.stage) or play(run))
    (tmp_path / "act.yaml").write_text(
        "algorithm: ppo-small\n"
        f"phases: {{first: {{decisions: 64}}, then: {{decisions: 64, algorithm: {algorithm}-small}}}}\n"
    )
    save_policy(tmp_path / "policy.safetensors", Policy(ActorCritic(4, 2, (16,)), SPEC, ObservationSpec((4,))))
    done = finetune(
        "policy=policy.safetensors", "schedule=act.yaml", "evaluation.episodes=0", "video=false", "out=run",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert played == [1]


@pytest.mark.parametrize("algorithm", ["rlpd-small", "vtrace-small"])
def test_a_resumed_run_distils_nothing_and_has_the_same_weights(
    finetune: Callable[..., Any], tmp_path: Path, algorithm: str
) -> None:
    save_policy(tmp_path / "policy.safetensors", Policy(network("two-timescale"), SPEC, ObservationSpec((4,))))
    words = [
        "policy=policy.safetensors", f"algorithm={algorithm}", "schedule=live-only", "schedule.decisions=320",
        "loop.checkpoint_every=128", "evaluation.episodes=0", "video=false", "out=run",
    ]  # fmt: skip
    assert finetune(*words).code == 0
    before = load_policy(tmp_path / "run" / "policy.safetensors").network.state_dict()
    for newer in checkpoints(tmp_path / "run" / "checkpoints")[1:]:
        newer.unlink()
    (tmp_path / "run" / "policy.safetensors").unlink()
    again = finetune(*words, "resume=true")
    assert again.code == 0, again.err
    assert "distilled" not in again.out
    after = load_policy(tmp_path / "run" / "policy.safetensors").network.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [("q", "ppo-small"), ("two-timescale", "acer-small"), ("q", "vtrace-small"), ("recurrent", "ftw")],
)
def test_a_policy_of_another_kind_is_distilled_and_goes_on(
    finetune: Callable[..., Any], tmp_path: Path, kind: str, algorithm: str
) -> None:
    save_policy(tmp_path / "policy.safetensors", Policy(network(kind), SPEC, ObservationSpec((4,))))
    more = ["loop.value_decisions=160"] if algorithm == "acer-small" else []
    done = finetune(
        "policy=policy.safetensors", f"algorithm={algorithm}", "schedule=live-only", "schedule.decisions=160",
        "evaluation.episodes=0", "video=false", "out=run", *more,
    )  # fmt: skip
    assert done.code == 0, done.err
    began, ended = "does not fit the algorithm; it is distilled on its own play first", "note: distilled on "
    assert 0 <= done.out.find(began) < done.out.find(ended)
    made = load_policy(tmp_path / "run" / "policy.safetensors").network
    wanted = {"vtrace-small": RecurrentActorCritic, "ftw": TwoTimescaleActorCritic}.get(algorithm, ActorCritic)
    assert isinstance(made, wanted)


def test_a_policy_of_other_actions_is_refused_in_one_line(finetune: Callable[..., Any], tmp_path: Path) -> None:
    save_policy(tmp_path / "policy.safetensors", Policy(QNetwork(4, 3, (16,)), SPEC, ObservationSpec((4,))))
    done = finetune("policy=policy.safetensors", "algorithm=vtrace-small", "schedule=live-only", "out=run")
    assert done.code == 2
    assert "2 actions, but the policy has float32 [4] and 3" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
