"""Films and picture strips."""

from pathlib import Path

import imageio.v2
import numpy as np
import pytest
from qwop.envs import replay
from qwop.envs.pictures.drawing import Drawing
from qwop.envs.pictures.video import GAP, game_pictures, picture_strip, seconds_from_first_key, write_video

KEYS = np.array([0, 0, 5, 5, 0, 10, 10], np.uint8)


def test_running_time_starts_with_the_first_key() -> None:
    np.testing.assert_allclose(seconds_from_first_key(KEYS) * 30, [0, 0, 0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(seconds_from_first_key(np.zeros(3)), np.zeros(4))


def test_a_film_has_a_picture_for_every_state_and_rests_on_the_last(tmp_path: Path) -> None:
    game = replay(KEYS)
    drawing = Drawing(320, 200)
    film = write_video(tmp_path / "runs" / "game.mp4", game_pictures(game.states, game.events, KEYS, drawing))
    assert [file.name for file in film.parent.iterdir()] == ["game.mp4"]
    with imageio.v2.get_reader(film) as reader:  # type: ignore[attr-defined]
        about = reader.get_meta_data()
        pictures = [np.asarray(picture) for picture in reader]
    assert about["fps"] == 30
    assert about["pix_fmt"].startswith("yuv420p")
    assert len(pictures) == len(KEYS) + 1 + 45
    expected = list(game_pictures(game.states, game.events, KEYS, drawing))[-1]
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
