"""Unrolls of a two-timescale policy: the same numbers as in play, however the sequences are cut."""

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.finetune.agents.ftw.learner import unroll
from qwop.finetune.experience.collector import Collector
from qwop.finetune.experience.policy_snapshot import PolicySnapshot
from qwop.finetune.experience.sequences import Sequences
from qwop.policies.state import to_tensors
from qwop.policies.two_timescale import TwoTimescaleActorCritic

CPU = torch.device("cpu")


def make_network(period: int = 4, slots: int = 6) -> TwoTimescaleActorCritic:
    return TwoTimescaleActorCritic(4, 2, (16,), 16, 16, period, torch.Generator().manual_seed(0), slots)


def played(steps: int, parts: int = 1) -> list[Sequences]:
    """CartPole in episodes of at most 11 decisions."""
    envs = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=11)] * 3
    env: Any = SyncVectorEnv(envs, autoreset_mode=AutoresetMode.SAME_STEP)
    play = Collector(env, steps, np.random.default_rng(0))
    return [play.collect(PolicySnapshot(make_network()))[0] for _ in range(parts)]


def test_an_unroll_draws_the_latents_of_play() -> None:
    for sequences in played(15, parts=3):
        sequences.check_valid()
        assert sequences.truncated.any()
        found = torch.softmax(unroll(make_network(), sequences, CPU, slow_gradient=0.3).policy.logits, dim=-1)
        np.testing.assert_allclose(found.detach(), sequences.behaviour_probabilities, rtol=1e-5)


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    """Equal but for the last bits: the layers outside of the cores see all steps at once."""
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_sequences_cut_in_two_are_one_unroll() -> None:
    """The cut, at decision 15, falls between two ticks of the slow core; episodes end within, at and after it."""
    (whole,), halves = played(30), played(15, parts=2)
    network = make_network()
    one, (first, second) = unroll(network, whole, CPU), (unroll(network, half, CPU) for half in halves)

    def joined(pick: Any) -> torch.Tensor:
        return torch.cat([pick(first), pick(second)], dim=1)

    for pick in (
        lambda found: found.policy.logits,
        lambda found: found.policy.final_values,
        lambda found: found.posterior.mean,
        lambda found: found.prior.std,
        lambda found: found.ticked,
    ):
        same(pick(one), joined(pick))
    same(one.policy.values, torch.cat([first.policy.values[:, :-1], second.policy.values], dim=1))
    same(one.latents, torch.cat([first.latents[:, :-1], second.latents], dim=1))
    for mine, theirs in ((first.policy.state, to_tensors(halves[1].state)), (one.policy.state, second.policy.state)):
        for part, other in zip(mine, theirs, strict=True):
            same(part, other)
    assert one.ticked.any()
    assert not one.ticked.all()


def test_the_slow_core_ticks_from_each_episodes_start() -> None:
    (whole,) = played(30)
    ticked = unroll(make_network(period=4), whole, CPU).ticked.numpy()
    over = whole.terminated | whole.truncated
    for row in range(len(whole)):
        age = 0
        for t in range(30):
            assert ticked[row, t] == (age % 4 == 0)
            age = 0 if over[row, t] else age + 1
