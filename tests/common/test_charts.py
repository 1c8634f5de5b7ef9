import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from qwop.common.charts import Band, line_chart, shares_below


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def numbers(svg: str, tag: str) -> list[ElementTree.Element]:
    return [one for one in parsed(svg) if one.tag == tag]


def test_a_chart_is_well_formed_and_names_what_it_shows() -> None:
    svg = line_chart("metres <m>", {"a & b": [(0, 1), (10, 3)]}, [Band(0, 4, "alone", False)], "decisions")
    texts = [one.text for one in numbers(svg, "text")]
    assert "metres <m>" in texts
    assert "decisions" in texts
    assert numbers(svg, "polyline")[0][0].text == "a & b"


def test_points_lie_where_their_numbers_say() -> None:
    svg = line_chart("t", {"one": [(0, 0), (5, 1), (10, 2)]}, [], "x")
    points = [tuple(map(float, point.split(","))) for point in numbers(svg, "polyline")[0].get("points").split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)
    assert y2 < y0  # up the page


def test_bands_are_shaded_over_their_stretch() -> None:
    bands = [Band(0, 5, "alone", False), Band(5, 10, "mixed", True)]
    plain, shaded = numbers(line_chart("t", {"one": [(0, 1), (10, 2)]}, bands, "x"), "rect")
    assert (plain.get("class"), shaded.get("class")) == ("plain", "shaded")
    assert float(plain.get("width")) == pytest.approx(float(shaded.get("width")), abs=0.1)


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show() -> None:
    svg = line_chart("t", {"one": [(0, 0.0), (1, 1.0), (2, 1000.0)]}, [], "x", log=True)
    assert len(numbers(svg, "polyline")[0].get("points").split()) == 2


@pytest.mark.parametrize("points", [[], [(0, float("nan"))]])
def test_nothing_to_show_is_no_chart(points: list[tuple[float, float]]) -> None:
    assert line_chart("t", {"one": points}, [], "x") == ""


@pytest.mark.parametrize("points", [[(0, 5.0)], [(0, 2.0), (1, 2.0)], [(0, -3.0), (1, -3.0)], [(0, 0.0), (1, 0.0)]])
def test_a_constant_line_can_be_drawn(points: list[tuple[float, float]]) -> None:
    assert parsed(line_chart("t", {"one": points}, [], "x")) is not None


def test_shares_reach_one() -> None:
    assert shares_below(np.array([3.0, np.nan, 1.0, 2.0, 2.0])) == [(1, 0.25), (2, 0.5), (2, 0.75), (3, 1)]
    assert shares_below(np.array([np.nan])) == []
