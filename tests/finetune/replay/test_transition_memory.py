"""Uniform replay: what is drawn how often, what leaves, and the bytes that pictures take."""

from dataclasses import replace

import numpy as np
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.replay.memory import BLOCK
from qwop.finetune.replay.transition_memory import TransitionMemory

from ..transitions import make_transitions
from .contents import nbytes

PICTURES = ObservationSpec((4, 36, 36), "uint8")


def pictures(n: int, first: int = 0) -> Transitions:
    frames = np.random.default_rng(0).integers(256, size=(1000, 36, 36)).astype(np.uint8)
    seen = np.stack([frames[i : i + 4] for i in range(first, first + n + 1)])
    return replace(make_transitions(n, first=first), observations=seen[:-1], next_observations=seen[1:])


def test_its_state_puts_everything_back_and_holds_each_frame_once() -> None:
    one, other = TransitionMemory(30, PICTURES), TransitionMemory(30, PICTURES)
    one.push(pictures(30))
    one.push(pictures(5, first=30))
    state = one.get_state()
    assert state["observations"]["frames"].shape == (30 + 4, 36 * 36)
    other.set_state(state)
    for each in (one, other):
        each.push(pictures(2, first=35))
    draws = [each.sample(50, 1.0, np.random.default_rng(3)) for each in (one, other)]
    assert np.array_equal(draws[0].slots, draws[1].slots)
    assert np.array_equal(draws[0].transitions.observations, draws[1].transitions.observations)


def test_a_million_transitions_of_atari_would_take_less_than_eight_gigabytes() -> None:
    capacity = BLOCK
    one = TransitionMemory(capacity, ObservationSpec((4, 84, 84), "uint8"))
    frames = np.random.default_rng(0).integers(256, size=(512 + 4, 84, 84)).astype(np.uint8)
    for first in range(0, capacity + 512, 512):
        frames[:, 0, 0] = first // 512  # or it would be the same film again
        seen = np.stack([frames[i : i + 4] for i in range(513)])
        one.push(replace(make_transitions(512, first=first), observations=seen[:-1], next_observations=seen[1:]))
    # A block is taken at a time, so a memory this small has one more than it needs.
    assert 0 < (nbytes(one) - BLOCK * 84 * 84) / capacity * 1e6 < 8e9
    assert one.sample(1, 1.0, np.random.default_rng(0)).transitions.observations.dtype == np.uint8
