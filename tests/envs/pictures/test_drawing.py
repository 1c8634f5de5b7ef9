"""Pictures of states: what must be seen in them."""

import numpy as np
import pytest
from qwop.envs import replay
from qwop.envs.names import KEY_P, KEY_Q, KEY_W
from qwop.envs.pictures.drawing import Drawing, Scenery

KEYS = np.repeat(np.array([5, 10, 9, 6], np.uint8), 12)


@pytest.fixture(scope="module")
def drawing() -> Drawing:
    return Drawing()


def test_a_picture_has_the_size_asked_for() -> None:
    state = replay([]).states[0]
    for width, height in ((640, 400), (320, 200), (960, 540)):
        picture = Drawing(width, height).picture(state, metres=0.3, seconds=0.0)
        assert picture.shape == (height, width, 3)
        assert picture.dtype == np.uint8


def test_the_same_state_gives_the_same_picture(drawing: Drawing) -> None:
    state = replay(KEYS).states[-1]
    one = drawing.picture(state, metres=1.0, seconds=2.0, keys=KEY_Q)
    drawing.picture(replay(KEYS).states[10], metres=7.0, seconds=1.0, keys=KEY_P)
    np.testing.assert_array_equal(drawing.picture(state, metres=1.0, seconds=2.0, keys=KEY_Q), one)


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


def test_states_far_out_of_the_ordinary_are_drawn_too(drawing: Drawing) -> None:
    state = replay([]).states[0]
    for x in (-400.0, 1e6):
        moved = state.copy()
        moved[:12, 0] += x
        assert drawing.picture(moved, metres=x, seconds=0.0).shape == (400, 640, 3)


@pytest.mark.parametrize("left", [-300, 0, 4321])
@pytest.mark.parametrize("lift", [0, 37])
def test_a_backdrop_pasted_in_bands_is_the_one_pasted_whole(
    left: int, lift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Scenery(320, 200).draw(left, lift)
    monkeypatch.setattr("qwop.envs.pictures.drawing._bands", lambda image: [(0, image)])
    assert drawn.tobytes() == Scenery(320, 200).draw(left, lift).tobytes()
