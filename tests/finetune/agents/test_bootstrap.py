from collections.abc import Callable
from dataclasses import replace

import torch
from qwop.finetune.agents.losses import final_values
from qwop.finetune.experience.sequences import Sequences

CPU = torch.device("cpu")


def test_values_stand_at_the_steps_that_time_limits_ended(make_sequences: Callable[..., Sequences]) -> None:
    batch = make_sequences(5, truncated_every=2)
    found = final_values(batch, lambda seen: seen[:, 0], CPU)
    expected = torch.zeros(5, 4)
    for sequence, step, seen in zip(*batch.finals, strict=True):
        expected[int(sequence), int(step)] = float(seen[0])
    assert torch.equal(found, expected)
    assert (found != 0).sum() == 3


def test_observations_of_any_shape_are_rows_for_the_values(make_sequences: Callable[..., Sequences]) -> None:
    batch = make_sequences(2, shape=(2, 3), truncated_every=1)
    shapes = []

    def value(seen: torch.Tensor) -> torch.Tensor:
        shapes.append(tuple(seen.shape))
        return seen.sum(-1)

    final_values(batch, value, CPU)
    assert shapes == [(2, 6)]


def test_without_limits_nothing_is_valued(make_sequences: Callable[..., Sequences]) -> None:
    def never(seen: torch.Tensor) -> torch.Tensor:
        raise AssertionError("no final observation to value")

    batch = make_sequences(3)
    assert torch.equal(final_values(replace(batch), never, CPU), torch.zeros(3, 4))
