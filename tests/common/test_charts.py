import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from qwop.common.charts import Band, line_chart, scatter_chart, shares_below, side_by_side


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


def test_a_single_point_is_seen_in_the_middle_of_axes_that_begin_at_zero() -> None:
    svg = line_chart("t", {"one": [(3, 1.0)]}, [], "x")
    (group,) = numbers(svg, "g")
    texts = [one.text for one in numbers(svg, "text")]
    assert texts == ["t", "0", "0.25", "0.5", "0.75", "1", "3", "x"]
    assert float(group[1].get("cx")) == pytest.approx((54 + 440 - 14) / 2)


def test_long_names_are_cut_to_fit_into_the_legend_and_a_long_title_is_smaller() -> None:
    svg = line_chart("t" * 80, {"a" * 60: [(0, 1), (1, 2)], "ü": [(0, 2), (1, 3)]}, [], "x")
    title, *_, first, second = numbers(svg, "text")
    assert title.get("style") == "font-size:9.0px"
    assert (first[0].text, first[0].tail[-1], second.text) == ("a" * 60, "…", "ü")
    assert float(first.get("x")) + 8 * len(first[0].tail) < float(second.get("x")) < 440 - 8


def test_shares_reach_one() -> None:
    assert shares_below(np.array([3.0, np.nan, 1.0, 2.0, 2.0])) == [(1, 0.25), (2, 0.5), (2, 0.75), (3, 1)]
    assert shares_below(np.array([np.nan])) == []


def test_an_area_lies_around_its_line_in_its_colour() -> None:
    svg = line_chart("t", {"one": [(0, 2), (10, 4)]}, [], "x", around={"one": [(0, 1, 3), (10, 3, 5)]})
    (area,), (line,) = numbers(svg, "polygon"), numbers(svg, "polyline")
    corners = [tuple(map(float, point.split(","))) for point in area.get("points").split()]
    (x0, y0), (x1, y1) = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert [x for x, _ in corners] == [x0, x1, x1, x0]
    assert (corners[0][1] + corners[3][1]) / 2 == pytest.approx(y0, abs=0.1)
    assert (corners[1][1] + corners[2][1]) / 2 == pytest.approx(y1, abs=0.1)
    assert area.get("fill") == line.get("stroke")


def test_points_of_a_scatter_chart_lie_on_the_diagonal_where_their_numbers_are_equal() -> None:
    svg = scatter_chart("t", {"a": {"low <1>": (0, 0), "high": (10, 10)}, "none": {}}, "x")
    low, high = [(float(one.get("cx")), float(one.get("cy"))) for one in numbers(svg, "circle")]
    (line,) = [one for one in numbers(svg, "line") if one.get("class") == "diagonal"]
    assert (float(line.get("x1")), float(line.get("y1"))) == pytest.approx(low)
    assert (float(line.get("x2")), float(line.get("y2"))) == pytest.approx(high)
    assert numbers(svg, "circle")[0][0].text == "low <1>"
    assert scatter_chart("t", {"a": {}}, "x") == ""


def test_places_name_the_numbers_of_the_horizontal_axis() -> None:
    svg = line_chart("t", {"one": [(0, 1), (1, 2)]}, [], "games", places={0: "0", 1: "3", 2: "40"})
    texts = {one.text: float(one.get("x", "0")) for one in numbers(svg, "text")}
    assert texts["0"] < texts["3"] < texts["40"]
    last = float(numbers(svg, "polyline")[0].get("points", "").split()[-1].split(",")[0])
    assert last == pytest.approx(texts["3"], abs=0.1)


def test_charts_of_given_heights_can_be_compared() -> None:
    ends = set()
    for height in (2.0, 90.0):
        svg = line_chart("t", {"one": [(0, 0), (1, height)]}, [], "x", heights=(0.0, 100.0))
        assert "100" in [one.text for one in numbers(svg, "text")]
        ends.add(numbers(svg, "polyline")[0].get("points", "").split()[0])
    assert len(ends) == 1  # 0 is as high in both


@pytest.mark.parametrize("x", [0.0, -7.0, 3e39])
def test_a_single_place_on_the_horizontal_axis_is_drawn_whatever_its_size(x: float) -> None:
    (line,) = numbers(line_chart("t", {"one": [(x, 0.5), (x, 1.0)]}, [], "return"), "polyline")
    assert len(line.get("points", "").split()) == 2


def test_charts_stand_in_rows() -> None:
    chart = line_chart("t", {"one": [(0, 1), (1, 2)]}, [], "x")
    inner = [one for one in parsed(side_by_side([chart, "", chart, chart], columns=2)) if one.tag.endswith("svg")]
    assert [(one.get("x"), one.get("y")) for one in inner] == [("0", "0"), ("440", "0"), ("0", "250")]
