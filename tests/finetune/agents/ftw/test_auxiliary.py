"""The networks of the auxiliary tasks: what they see, and what they learn to tell."""

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.ftw.learner import FeatureControl, PixelControl
from qwop.policies.scaling import PixelScaler


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize(
    ("shape", "cells"),
    [((84, 84), (20, 20)), ((4, 84, 84), (20, 20)), ((36, 36, 3), (8, 8)), ((2, 60, 84, 3), (14, 20))],
)
def test_pixel_control_has_as_many_cells_as_pseudo_rewards(shape: tuple[int, ...], cells: tuple[int, int]) -> None:
    control = PixelControl(ObservationSpec(shape, "uint8"), 6, 3, generator())
    assert control.cells == cells
    pictures = torch.zeros(2, 4, int(np.prod(shape)), dtype=torch.uint8)
    assert control.rewards(pictures, PixelScaler()).shape == (2, 3, cells[0] * cells[1])
    assert control(torch.zeros(2, 3, 6)).shape == (2, 3, 3, cells[0] * cells[1])


def test_pixel_control_looks_at_the_newest_frame_and_at_a_cells_own_place() -> None:
    control = PixelControl(ObservationSpec((2, 36, 36, 3), "uint8"), 6, 3, generator())
    pictures = torch.zeros(1, 2, 2, 36, 36, 3, dtype=torch.uint8)
    pictures[:, 1, 0] = 255  # the older frame
    assert not control.rewards(pictures.flatten(2), PixelScaler()).any()
    pictures[:, 1, 1, 2 + 4 * 3 : 2 + 4 * 4, 2 + 4 * 5 : 2 + 4 * 6] = 51  # row 3, column 5 of cells
    found = control.rewards(pictures.flatten(2), PixelScaler())[0, 0]
    assert found.nonzero().flatten().tolist() == [3 * 8 + 5]
    assert found.max().item() == pytest.approx(0.2)


def test_q_values_are_dueling() -> None:
    """The mean over the actions is the value alone, whatever the advantages are."""
    latents = torch.randn(5, 6, generator=generator())
    features = FeatureControl(6, 8, 3, 4, generator())
    pixels = PixelControl(ObservationSpec((36, 36), "uint8"), 6, 3, generator())
    before = [control(latents) for control in (features, pixels)]
    with torch.no_grad():
        features.advantage.weight.mul_(5.0)
        pixels.deconvolution.weight[:, 1:].mul_(5.0)
    for control, old in zip((features, pixels), before, strict=True):
        assert not torch.allclose(control(latents), old)
        torch.testing.assert_close(control(latents).mean(-2), old.mean(-2))


def test_feature_control_is_of_scaled_and_bounded_numbers() -> None:
    control = FeatureControl(6, 8, 3, 2, generator())
    seen = torch.tensor([[[0.0, 1.0], [1000.0, 3.0]]])
    assert control.rewards(seen, lambda x: x / 2)[0].tolist() == [[8.0, 1.0]]
