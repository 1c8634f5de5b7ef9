import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from qwop.common.charts import Band, line_chart, shares_below


def elements(figure: str, tag: str) -> list[ElementTree.Element]:
    return [*ElementTree.fromstring(figure).iter(tag)]


def test_points_lie_where_their_numbers_say() -> None:
    svg = line_chart("t", {"one": [(0, 0), (5, 1), (10, 2)]}, [], "x")
    points = [tuple(map(float, point.split(","))) for point in elements(svg, "polyline")[0].get("points").split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)
    assert y2 < y0  # up the page


def test_a_chart_names_what_it_shows_and_shades_bands_over_their_stretch() -> None:
    bands = [Band(0, 5, "alone", False), Band(5, 10, "mixed", True)]
    svg = line_chart("metres <m>", {"a & b": [(0, 1), (10, 2)]}, bands, "decisions")
    assert elements(svg, "figcaption")[0].text == "metres <m>"
    assert "decisions" in [one.text for one in elements(svg, "text")]
    assert elements(svg, "polyline")[0][0].text == "a & b"
    plain, shaded = elements(svg, "rect")
    assert (plain.get("class"), shaded.get("class")) == ("plain", "shaded")
    assert float(plain.get("width")) == pytest.approx(float(shaded.get("width")), abs=0.1)


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show() -> None:
    svg = line_chart("t", {"one": [(0, 0.0), (1, 1.0), (2, 1000.0)]}, [], "x", log=True)
    assert len(elements(svg, "polyline")[0].get("points").split()) == 2
    assert [one.text for one in elements(svg, "text")][:4] == ["1", "10", "100", "1000"]


@pytest.mark.parametrize("points", [[], [(0, float("nan"))]])
def test_nothing_to_show_is_no_chart(points: list[tuple[float, float]]) -> None:
    assert line_chart("t", {"one": points}, [], "x") == ""


@pytest.mark.parametrize(
    "points", [[(0, 2.0), (1, 2.0)], [(0, -3.0), (1, -3.0)], [(0, 0.0), (1, 0.0)], [(3e39, 0.5), (3e39, 1.0)]]
)
def test_a_line_without_height_or_width_can_be_drawn(points: list[tuple[float, float]]) -> None:
    (line,) = elements(line_chart("t", {"one": points}, [], "x"), "polyline")
    assert len(line.get("points", "").split()) == 2


def test_a_single_point_is_seen_in_the_middle_of_axes_that_begin_at_zero() -> None:
    svg = line_chart("t", {"one": [(3, 1.0)]}, [], "x")
    (dot,) = elements(svg, "polyline")
    assert dot.get("class") == "dot"
    texts = [one.text for one in elements(svg, "text")]
    assert texts == ["0", "0.25", "0.5", "0.75", "1", "2", "2.5", "3", "3.5", "4", "x"]
    assert float(dot.get("points").split(",")[0]) == pytest.approx((54 + 440 - 14) / 2)


def test_several_lines_have_a_legend_in_their_colours_unless_the_page_has_one() -> None:
    lines = {"a <b>": [(0, 1), (1, 2)], "ü": [(0, 2), (1, 3)]}
    names = elements(figure := line_chart("t", lines, [], "x"), "span")
    assert [one.text for one in names] == ["a <b>", "ü"]
    assert [one.get("style") for one in names] == [f"color:{one.get('stroke')}" for one in elements(figure, "polyline")]
    assert not elements(line_chart("t", {"one": lines["ü"]}, [], "x"), "span")
    assert not elements(line_chart("t", lines, [], "x", colours=dict.fromkeys(lines, "red")), "span")


def test_shares_reach_one() -> None:
    assert shares_below(np.array([3.0, np.nan, 1.0, 2.0, 2.0])) == [(1, 0.25), (2, 0.5), (2, 0.75), (3, 1)]
    assert shares_below(np.array([np.nan])) == []


def test_an_area_lies_around_its_line_in_its_colour() -> None:
    svg = line_chart("t", {"one": [(0, 2), (10, 4)]}, [], "x", around={"one": [(0, 1, 3), (10, 3, 5)]})
    (area,), (line,) = elements(svg, "polygon"), elements(svg, "polyline")
    corners = [tuple(map(float, point.split(","))) for point in area.get("points").split()]
    (x0, y0), (x1, y1) = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert [x for x, _ in corners] == [x0, x1, x1, x0]
    assert (corners[0][1] + corners[3][1]) / 2 == pytest.approx(y0, abs=0.1)
    assert (corners[1][1] + corners[2][1]) / 2 == pytest.approx(y1, abs=0.1)
    assert area.get("fill") == line.get("stroke")
