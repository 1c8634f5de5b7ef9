"""Distillation, and `qwop-distil`: the policy plays the games that it is given, and otherwise as before."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Actor
from qwop.policies.rollout import play
from qwop.search.distil import distil, distil_loss, margins, own_play_loss
from qwop.search.settings import DistilSettings

from .conftest import IDLE, RUNNER, Command, made_up, runner, searched

LOGITS = torch.tensor([[1.0, 0.5, -2.0], [0.0, 3.0, 2.9]])


def test_margins_and_losses_of_known_logits() -> None:
    actions = torch.tensor([0, 2])
    torch.testing.assert_close(margins(LOGITS, actions), torch.tensor([0.5, -0.1]))
    # Twice a margin of 0.2 is 0.4: nothing is left to learn of the first.
    torch.testing.assert_close(distil_loss(LOGITS, actions, 0.2), torch.tensor(0.25))
    before, now = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.8, 0.2]]).log()
    torch.testing.assert_close(own_play_loss(before, now), torch.tensor(0.2231436))  # ½ ln(½/0.8) + ½ ln(½/0.2)
    assert own_play_loss(before, before) == 0.0


def make(seed: int = 0) -> Actor:
    return Actor(94, 11, (32,), torch.Generator().manual_seed(seed))


def test_training_equals_a_reference_in_float64() -> None:
    """One decision that is missed and one state of its own, so that all minibatches are alike."""
    network, generator = make(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        network.policy_head.weight.mul_(30)
    state, own = torch.randn(1, 94, generator=generator), torch.randn(1, 94, generator=generator)
    action = network.logits(state).argmin(-1)
    expected = make().double()
    expected.load_state_dict(network.state_dict())
    before = expected.logits(own.double())[0].log_softmax(-1).detach()
    optimiser = torch.optim.Adam(expected.parameters(), betas=(0.9, 0.99))
    for step in range(100):
        optimiser.param_groups[0]["lr"] = 1e-3 * min(1.0, (step + 1) / 50) * max(0.02, 1.0 - step / 100)
        logits = expected.logits(state.double())[0]
        others = torch.cat([logits[: action.item()], logits[action.item() + 1 :]])
        now = expected.logits(own.double())[0].log_softmax(-1)
        optimiser.zero_grad()
        hinge = torch.relu(0.2 - (logits[action.item()] - others.max()))
        (hinge + 3.0 * (before.exp() * (before - now)).sum()).backward()
        optimiser.step()
    start = network.logits(torch.cat([state, own])).detach()
    distil(network, state, action, own, DistilSettings(steps=100, learning_rate=1e-3, margin=0.1, own=3.0))
    found, wanted = network.logits(torch.cat([state, own])), expected.logits(torch.cat([state, own]).double())
    assert (found - start).abs().max() > 0.3
    torch.testing.assert_close(found.double(), wanted, atol=1e-3, rtol=1e-3)


def test_a_rare_decision_that_is_missed_is_learned_soon() -> None:
    """Another action in one state of 2,000."""
    states, network = torch.randn(2000, 94, generator=torch.Generator().manual_seed(2)), make()
    with torch.no_grad():
        network.policy_head.weight.mul_(100)
        actions = network.logits(states).argmax(-1)
        actions[7] = (actions[7] + 1) % 11
    distil(
        network, states, actions, states[:500], DistilSettings(steps=300, own=0.0, learning_rate=1e-3, mine_every=10)
    )
    assert margins(network.logits(states[7:8]), actions[7:8]) > 0


def test_a_training_that_diverges_is_refused_in_its_last_step_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps_before_refusal(network: Actor, steps: int) -> int:
        counts: list[int] = []
        states = torch.randn(4, 94, generator=torch.Generator().manual_seed(1))
        with pytest.raises(BadInput, match=r"learning_rate=0\.0001: the training diverges; lower it"):
            distil(
                network, states, torch.zeros(4, dtype=torch.int64), states, DistilSettings(steps=steps), counts.append
            )
        return len(counts)

    def to_nothing(optimiser: torch.optim.Adam) -> None:
        for parameter in optimiser.param_groups[0]["params"]:
            parameter.data.fill_(torch.nan)

    network = make()
    with torch.no_grad():
        network.policy_head.bias.fill_(torch.inf)
    assert steps_before_refusal(network, steps=2) == 0
    monkeypatch.setattr(torch.optim.Adam, "step", to_nothing)
    assert steps_before_refusal(make(), steps=1) == 1


@pytest.mark.slow
def test_the_policy_plays_the_fastest_searched_game_and_keeps_its_values(
    policy_file: Path, tmp_path: Path, distil: Command
) -> None:
    before = load_policy(policy_file)
    slow = searched(tmp_path / "slow", before, made_up(1, 22))
    games = searched(tmp_path / "games", before, made_up(2, 21), made_up(0, 20), made_up(3, 21))
    given = [f"policy={policy_file}", f"games=[{games},{slow}]", f"out={tmp_path / 'out'}", "max_idle_frames=5"]
    code, printed, _ = distil(*given, "own_games=2", "own=0", "steps=800", "learning_rate=2e-3")
    assert code == 0
    assert "1 games: 20 of 20 decisions are the policy's now" in printed
    after = load_policy(tmp_path / "out" / "policy.safetensors")
    assert after.environment == before.environment
    assert after.values is not None
    assert before.values is not None
    torch.testing.assert_close(after.values.head.weight, before.values.head.weight)
    (game,) = play(after, episodes=1, seed=0, greedy=True, idle_frames=[IDLE])
    np.testing.assert_array_equal(game.actions[:20], made_up(0, 20))
    code, _, error = distil(*given)
    assert code == 2
    assert "holds a policy already, which stays" in error


@pytest.mark.slow
def test_delays_and_the_way_to_play_are_left_behind(policy_file: Path, tmp_path: Path, distil: Command) -> None:
    policy = load_policy(policy_file)
    games = searched(tmp_path / "games", policy)
    late = replace(runner(delay=0.02), greedy=False, sharpness=5.0)
    save_policy(tmp_path / "late.safetensors", late)
    of_late = searched(tmp_path / "of-late", late, made_up(1, 21))
    given = [f"policy={tmp_path / 'late.safetensors'}", f"games=[{games},{of_late}]", f"out={tmp_path / 'out'}"]
    assert distil(*given, "own_games=1", "own=0", "steps=10").code == 0
    after = load_policy(tmp_path / "out" / "policy.safetensors")
    assert after.environment == RUNNER
    assert (after.greedy, after.sharpness) == (True, 1.0)
