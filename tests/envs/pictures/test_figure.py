"""The figure's shapes, and the edges round them."""

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.envs.pictures.figure import EDGE, HURDLE, RUNNER, Shape, grown

EDGED = [shape for shape in (*RUNNER, *HURDLE) if shape.edge is not None]


def along(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points on the sides of a polygon."""
    share = np.linspace(0, 1, 20, endpoint=False)[:, None, None]
    return (points + share * (np.roll(points, -1, axis=0) - points)).reshape(-1, 2)


def distances(places: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each place from the sides of a polygon."""
    sides = np.roll(points, -1, axis=0) - points
    apart = places[:, None] - points
    share = np.clip((apart * sides).sum(-1) / (sides * sides).sum(-1), 0, 1)
    found: NDArray[np.float64] = np.linalg.norm(apart - share[..., None] * sides, axis=-1).min(axis=1)
    return found


def area(points: NDArray[np.float64]) -> float:
    x, y = points.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


@pytest.mark.parametrize("shape", EDGED)
def test_an_edge_is_as_wide_everywhere_round_its_shape(shape: Shape) -> None:
    apart = distances(along(shape.outline), shape.points)
    assert apart.max() <= EDGE + 1e-9
    assert apart.min() >= 0.95 * EDGE  # in the middle of a straight piece of a round corner
    assert area(shape.outline) > area(shape.points)


def test_corners_become_round_and_notches_stay_sharp_in_either_direction() -> None:
    notched = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (1.0, 1.0), (0.0, 2.0)])
    for points in (notched, notched[::-1]):
        outline = grown(points, 0.1)
        assert any(np.allclose(corner, (1.0, 1 + 0.1 * np.sqrt(2))) for corner in outline)
        assert outline.min() == pytest.approx(-0.1)
        assert not any(np.allclose(corner, (-0.1, -0.1)) for corner in outline)
