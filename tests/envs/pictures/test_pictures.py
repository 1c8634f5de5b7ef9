"""Pictures, films and the player of games."""

import base64
import json
import re
import zlib
from pathlib import Path

import imageio.v2
import numpy as np
import pytest
from qwop.common.page import page
from qwop.envs import replay
from qwop.envs.engine import layout as at
from qwop.envs.names import GROUND_Y, KEY_P, KEY_Q, KEY_W
from qwop.envs.pictures.drawing import HURDLE, RUNNER, SCENE, Drawing
from qwop.envs.pictures.player import PARTS, POSE, ROW, Clip, player, rows_of_game
from qwop.envs.pictures.video import GAP, game_pictures, picture_strip, seconds_from_first_key, write_video

KEYS = np.repeat(np.array([5, 10, 9, 6], np.uint8), 12)


@pytest.fixture(scope="module")
def drawing() -> Drawing:
    return Drawing()


def test_the_same_state_gives_the_same_picture_of_the_size_asked_for(drawing: Drawing) -> None:
    state = replay(KEYS).states[-1]
    one = drawing.picture(state, metres=1.0, seconds=2.0, keys=KEY_Q)
    drawing.picture(replay(KEYS).states[10], metres=7.0, seconds=1.0, keys=KEY_P)
    np.testing.assert_array_equal(drawing.picture(state, metres=1.0, seconds=2.0, keys=KEY_Q), one)
    for x in (0.0, -400.0, 1e6):  # far out of the ordinary, too
        state[:12, 0] = x
        assert Drawing(320, 200).picture(state, metres=x, seconds=0.0).shape == (200, 320, 3)


def test_a_key_that_is_down_is_lit_and_the_others_are_not(drawing: Drawing) -> None:
    state = replay([]).states[0]
    up = drawing.picture(state, metres=0.0, seconds=0.0).astype(int)
    for keys, left, right in ((KEY_Q, 0, 60), (KEY_W, 60, 120), (KEY_P, 580, 640)):
        change = abs(drawing.picture(state, metres=0.0, seconds=0.0, keys=keys) - up).sum(axis=(0, 2))
        assert change[left:right].sum() > 0
        change[left:right] = 0
        assert change.sum() == 0


def test_the_runner_stays_in_the_middle_and_the_track_goes_by(drawing: Drawing) -> None:
    state = replay([]).states[0]
    later = state.copy()
    later[:12, 0] += 35.0
    here, there = (drawing.picture(s, metres=0.0, seconds=0.0).astype(int) for s in (state, later))
    change = abs(here - there).sum(axis=2) > 30
    assert change[330:].mean() > 0.01  # marks of the track
    assert change[110:200, 240:300].mean() < 0.02  # the runner's trunk


def test_nothing_of_the_runner_is_lost_high_above_the_track(drawing: Drawing) -> None:
    state = replay([]).states[0]
    high = state.copy()
    high[:12, 1] -= 12.0
    for picture in (drawing.picture(s, metres=0.0, seconds=0.0).astype(int) for s in (state, high)):
        shirt = (abs(picture - np.array([38, 94, 168])).sum(axis=2) < 12).sum()
        assert shirt > 400


def test_the_data_of_pages_is_that_of_the_game() -> None:
    assert (SCENE["row"], SCENE["pose"], SCENE["ground_y"]) == (ROW, POSE, GROUND_Y)
    assert {shape.body for shape in RUNNER} == set(range(at.HURDLE_BASE))
    assert {shape.body for shape in HURDLE} == {at.HURDLE_BASE, at.HURDLE_TOP}


def test_a_film_has_a_picture_for_every_state_and_rests_on_the_last(tmp_path: Path) -> None:
    keys = KEYS[8:15]
    game = replay(keys)
    drawing = Drawing(320, 200)
    film = write_video(tmp_path / "runs" / "game.mp4", game_pictures(game.states, game.events, keys, drawing))
    assert [file.name for file in film.parent.iterdir()] == ["game.mp4"]
    with imageio.v2.get_reader(film) as reader:  # type: ignore[attr-defined]
        about = reader.get_meta_data()
        pictures = [np.asarray(picture) for picture in reader]
    assert about["fps"] == 30
    assert about["pix_fmt"].startswith("yuv420p")
    assert len(pictures) == len(keys) + 1 + 45
    expected = list(game_pictures(game.states, game.events, keys, drawing))[-1]
    assert abs(pictures[-1].astype(int) - expected).mean() < 6


@pytest.mark.parametrize("shape", [(51, 77, 3), (1, 1, 3), (33, 40)])
def test_pictures_with_odd_sides_are_filmed_without_a_warning(
    tmp_path: Path, shape: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    film = write_video(tmp_path / "odd.mp4", [np.full(shape, 200, np.uint8)] * 2, 10)
    with imageio.v2.get_reader(film) as reader:  # type: ignore[attr-defined]
        assert reader.get_meta_data()["size"] == (shape[1] + shape[1] % 2, shape[0] + shape[0] % 2)
    assert "resizing" not in caplog.text


def test_a_film_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def pictures() -> object:
        yield np.zeros((64, 64, 3), np.uint8)
        raise RuntimeError("no more pictures")

    with pytest.raises(RuntimeError, match="no more pictures"):
        write_video(tmp_path / "film.mp4", pictures())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_strip_has_rows_and_columns() -> None:
    tiles = [np.full((10, 20, 3), shade, np.uint8) for shade in (10, 60, 110)]
    strip = picture_strip(tiles, columns=2)
    assert strip.shape == (20 + GAP, 40 + GAP, 3)
    down, right = 10 + GAP, 20 + GAP
    corners = strip[0, 0, 0], strip[0, right, 0], strip[down, 0, 0], strip[down, right, 0], strip[down - 1, 0, 0]
    assert corners == (10, 60, 110, 255, 255)


def test_a_row_is_the_pose_the_figures_and_the_keys() -> None:
    keys = np.array([0, 0, 5, 5, 10], np.uint8)
    rows = rows_of_game(keys)
    game = replay(keys)
    np.testing.assert_array_equal(rows[:, :POSE], game.states[:, :, :3].reshape(6, POSE).astype(np.float32))
    np.testing.assert_allclose(rows[:, POSE + 1] * 30, [0, 0, 0, 1, 2, 3], rtol=1e-6)  # from the first key
    np.testing.assert_array_equal(rows[:, POSE + 2], [0, 0, 0, 5, 5, 10])
    np.testing.assert_array_equal(seconds_from_first_key(np.zeros(3)), np.zeros(4))


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return rows_of_game(np.repeat([0, 5, 10, 3], 20).astype(np.uint8))


@pytest.fixture(scope="module")
def html(rows: np.ndarray) -> str:
    return page("a <game>", player([Clip("</script><b>one", rows), Clip("two", rows[:20])]))


def test_rows_come_back_within_a_thousandth(html: str, rows: np.ndarray) -> None:
    found = re.search(r'<script type="application/json" id="player-data">(.*?)</script>', html, re.DOTALL)
    assert found
    clips = json.loads(found[1])["clips"]
    assert [clip["title"] for clip in clips] == ["</script><b>one", "two"]
    steps = np.frombuffer(zlib.decompress(base64.b64decode(clips[0]["rows"])), "<i4").reshape(ROW, -1)
    np.testing.assert_allclose(np.cumsum(steps, axis=1).T / PARTS, rows, atol=0.5 / PARTS)


def test_the_page_needs_nothing_else(html: str) -> None:
    assert not re.search(r'(src|href)="', html)
    assert "import " not in html
    assert "export " not in html
    assert "<title>a &lt;game&gt;</title>" in html


@pytest.mark.slow
@pytest.mark.needs(module="selenium")
def test_the_page_plays_in_a_browser(html: str, tmp_path: Path) -> None:
    from ...play.page import Page, open_browser

    (tmp_path / "page.html").write_text(html)
    driver = open_browser()
    try:
        driver.get((tmp_path / "page.html").as_uri())
        text = lambda: driver.find_element("css selector", ".seconds").text  # noqa: E731
        Page(driver, "").wait_until(lambda: text() and float(text().split()[0]) > 1, "playing")
        assert driver.get_log("browser") == []
    finally:
        driver.quit()
