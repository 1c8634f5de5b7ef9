"""Unrolls of a recurrent policy: the same numbers as in play, however the sequences are cut."""

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.finetune.agents.vtrace.learner import unroll
from qwop.finetune.experience.collector import Collector
from qwop.finetune.experience.policy_snapshot import PolicySnapshot
from qwop.finetune.experience.sequences import Sequences, concatenate
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.state import to_arrays, to_tensors

CPU = torch.device("cpu")


def make_network(seed: int = 0) -> RecurrentActorCritic:
    return RecurrentActorCritic(4, 2, (16,), 16, torch.Generator().manual_seed(seed))


def collector(steps: int, n: int = 3) -> Collector:
    envs = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=11) for _ in range(n)]
    env: Any = SyncVectorEnv(envs, autoreset_mode=AutoresetMode.SAME_STEP)
    return Collector(env, steps, np.random.default_rng(0))


def played(steps: int, parts: int = 1) -> list[Sequences]:
    network = make_network()
    play = collector(steps)
    return [play.collect(PolicySnapshot(network))[0] for _ in range(parts)]


def test_an_unroll_gives_the_probabilities_of_play() -> None:
    for sequences in played(15, parts=3):
        sequences.check_valid()
        assert sequences.truncated.any()
        found = torch.softmax(unroll(make_network(), sequences, CPU).logits, dim=-1).detach().numpy()
        np.testing.assert_allclose(found, sequences.behaviour_probabilities, rtol=1e-5)


def test_sequences_cut_in_two_are_one_unroll() -> None:
    """Episodes end within, at and after the cut."""
    (whole,), halves = played(30), played(15, parts=2)
    network = make_network()
    one, (first, second) = unroll(network, whole, CPU), (unroll(network, half, CPU) for half in halves)
    # Close, and on some processors equal: the rounding of a product may depend on its number of rows.
    close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)
    close(one.logits, torch.cat([first.logits, second.logits], dim=1))
    close(one.values, torch.cat([first.values[:, :-1], second.values], dim=1))
    close(one.final_values, torch.cat([first.final_values, second.final_values], dim=1))
    close(first.state, to_tensors(halves[1].state))
    close(one.state, second.state)


def test_the_state_is_reset_where_an_episode_begins() -> None:
    """After an end, nothing depends on the state that the sequence began with."""
    (whole,) = played(20)
    over = whole.terminated | whole.truncated
    other = replace(whole, state=tuple(part + 1.0 for part in whole.state))
    one, two = (unroll(make_network(), each, CPU) for each in (whole, other))
    for row, first in enumerate(over.argmax(axis=1)):
        assert not torch.equal(one.values[row, : first + 1], two.values[row, : first + 1])
        assert torch.equal(one.values[row, first + 1 :], two.values[row, first + 1 :])


def test_a_stopped_episode_is_valued_with_the_state_that_it_had() -> None:
    (whole,) = played(20)
    network = make_network()
    row, step = int(whole.finals.sequence[0]), int(whole.finals.step[0])
    state = tuple(torch.from_numpy(part[row : row + 1]) for part in whole.state)
    over = whole.terminated | whole.truncated
    with torch.no_grad():
        for t in range(step + 1):
            state = network.remember(network.encode(torch.from_numpy(whole.observations[row : row + 1, t])), state)
            if t < step and over[row, t]:
                state = network.initial_state(1)
        memory, _ = network.remember(network.encode(torch.from_numpy(whole.finals.observations[:1])), state)
        value = network.value_head(memory).item()
    assert unroll(network, whole, CPU).final_values[row, step].item() == pytest.approx(value, rel=1e-5)


def test_states_go_with_their_sequences() -> None:
    one, two = played(5, parts=2)
    order = np.array([4, 0, 3, 1, 2, 5])
    joined = concatenate([one, two], order)
    for part, (mine, theirs) in zip(joined.state, zip(one.state, two.state, strict=True), strict=True):
        assert np.array_equal(part, np.concatenate([mine, theirs])[order])
    assert not any(part.any() for part in one.state)
    assert all(part.any() for part in two.state)
    assert to_arrays(make_network().initial_state(3))[0].shape == one.state[0].shape
