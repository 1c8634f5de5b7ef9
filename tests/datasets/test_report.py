"""`qwop-dataset report`: the page, and the figures behind its pictures."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.clips import clip_of
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.report import FRAME, LANE, ReportSettings, best_of, key_raster, run
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.names import KEY_O, KEY_Q
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

from ..fakes import dataset_of, game_of

INFO = qwop_info(frames_per_step=3, reward="speed")


def test_a_report_is_a_page_with_every_picture_and_no_html_of_others(
    tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    for number in range(5):
        keys = np.repeat([0, KEY_Q | 8, 6, 9], 6 + number)
        dataset_of(tmp_path / "games", INFO, game_of(keys, INFO, player=f"<player {number}>"))
    run(ReportSettings(str(tmp_path / "games"), games=3))
    text = (tmp_path / "games-report.html").read_text()
    assert text.count("<svg") == 2
    assert (text.count('class="raster"'), 'class="player"' in text) == (1, True)
    assert "&lt;player 4&gt; 1" in text
    assert "<player" not in text
    other = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((4,)), 2)  # charts alone
    dataset_of(tmp_path / "any", other, make_episode(shape=(4,), count=2, keys=None, metres=None))
    run(ReportSettings(str(tmp_path / "any")))
    text = (tmp_path / "any-report.html").read_text()
    assert (text.count("<svg"), 'class="player"' in text) == (2, False)
    with pytest.raises(BadInput, match=r"out=report.pdf: expected the name of a page \(\.html\)"):
        ReportSettings(str(tmp_path), out="report.pdf")


def test_the_quickest_game_that_finished_is_the_best_though_its_torso_lands_before_the_line(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    games = [
        make_episode(steps=1, metres=metres, times=np.array([0, seconds]), outcome=outcome)
        for metres, seconds, outcome in ((100.5, 9.0, "finished"), (99.7, 3.0, "finished"), (101.0, 1.0, "fell"))
    ]
    assert best_of(dataset_of(tmp_path, info, *games).summary()) == 1


def test_a_raster_shows_a_key_while_it_is_down() -> None:
    clip = clip_of(game_of(np.repeat([KEY_Q, KEY_O], 6), INFO), INFO, "")
    picture = np.asarray(key_raster([clip]))
    q, o = picture[0], picture[2 * LANE]
    assert (q[: 6 * FRAME] == (31, 95, 168)).all()
    assert not (q[6 * FRAME :] == (31, 95, 168)).all(axis=1).any()
    assert (o[6 * FRAME :] == (199, 82, 42)).all()
