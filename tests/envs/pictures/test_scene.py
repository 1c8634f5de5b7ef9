"""The scene's data fits the game, and its shapes their edges."""

import numpy as np
import pytest
from qwop.envs.engine import layout as at
from qwop.envs.names import GROUND_Y
from qwop.envs.pictures.frame_rows import POSE, ROW
from qwop.envs.pictures.scene import HURDLE, RUNNER, SCENE, Shape, tile


def test_the_data_of_pages_is_that_of_the_game() -> None:
    assert (SCENE["row"], SCENE["pose"], SCENE["ground_y"]) == (ROW, POSE, GROUND_Y)
    assert {shape.body for shape in RUNNER} == set(range(at.HURDLE_BASE))
    assert {shape.body for shape in HURDLE} == {at.HURDLE_BASE, at.HURDLE_TOP}


@pytest.mark.parametrize("shape", [shape for shape in (*RUNNER, *HURDLE) if shape.edge is not None])
def test_an_edge_lies_around_its_shape(shape: Shape) -> None:
    assert shape.outline is not None
    sides = np.roll(shape.points, -1, axis=0) - shape.points
    apart = shape.outline[:, None] - shape.points
    share = np.clip((apart * sides).sum(-1) / (sides * sides).sum(-1), 0, 1)
    nearest = np.linalg.norm(apart - share[..., None] * sides, axis=-1).min(axis=1)
    np.testing.assert_allclose(nearest, SCENE["edge"], atol=1e-3)


@pytest.mark.parametrize("scale", [12.0, 16.0, 43.2])
def test_a_metre_of_track_is_a_metre_wide_at_any_scale(scale: float) -> None:
    assert tile("lane.png", scale).width == round(10 * scale)
