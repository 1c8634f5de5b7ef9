import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.arrow import decode_metadata, to_table
from qwop.datasets.clips import clip_of
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.reader import open_dataset
from qwop.datasets.report.command import ReportSettings, run
from qwop.datasets.report.pictures import FRAME, LANE, key_raster, strobe
from qwop.datasets.report.sample import best_of, distances, sample, speeds
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.summary import facts_in, summarise
from qwop.datasets.writer import DatasetWriter
from qwop.envs.names import KEY_O, KEY_Q
from qwop.envs.pictures.frame_rows import ROW
from qwop.envs.pictures.player import Clip
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

INFO = qwop_info(frames_per_step=3, reward="speed")


def played(keys: np.ndarray, player: str = "me") -> Episode:
    return episode_from_keys(keys, INFO, player=player, source="a test", epsilon=0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    writer = DatasetWriter(tmp_path / "games", INFO)
    for number in range(5):
        writer.write(played(np.repeat([0, KEY_Q | 8, 6, 9], 6 + number).astype(np.uint8), f"<player {number}>"))
    return tmp_path / "games"


def test_the_page_holds_statistics_charts_pictures_games_and_its_command(folder: Path, tmp_path: Path) -> None:
    run(ReportSettings(str(folder), games=3))
    text = (tmp_path / "games-report.html").read_text()
    assert f"qwop-dataset report {folder} games=3" in text
    assert text.count("<svg") == 4  # none of the speed, for want of two metres
    assert text.count("<img") == 2
    assert len(re.findall(r'"title": "episode', text)) == 3
    assert "<player" not in re.sub(r'(?s)<script type="application/json".*?</script>', "", text)
    assert "<b>5</b>episodes" in text
    assert not re.search(r'(src|href)="(?!data:)', text)


def test_two_datasets_stand_side_by_side(folder: Path, tmp_path: Path) -> None:
    run(ReportSettings(str(folder), against=str(folder), out=str(tmp_path / "both.html"), games=2))
    text = (tmp_path / "both.html").read_text()
    assert f'"title": "{folder}, episode' in text
    assert text.count("<td>QWOP-v1(frames_per_step=3") == 2
    assert text.count("<img") == 4
    assert len(re.findall(r'"title": ".*?episode', text)) == 4


def test_a_report_of_another_environment_has_charts_alone(tmp_path: Path, make_episode: Callable[..., Episode]) -> None:
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((4,)), 2)
    DatasetWriter(tmp_path / "any", info).write(make_episode(shape=(4,), count=2, keys=None, metres=None))
    run(ReportSettings(str(tmp_path / "any")))
    text = (tmp_path / "any-report.html").read_text()
    assert text.count("<svg") == 2  # return and probabilities
    assert 'class="player"' not in text


def test_the_sample_has_the_best_game_first_and_others_at_equal_distances(folder: Path) -> None:
    dataset = open_dataset(folder)
    found = sample(dataset, 3)
    best = best_of(dataset.summary())
    assert found.episodes[0].metres == max(episode.metres or 0 for episode in dataset)
    assert found.clips[0].title.startswith(f"episode {best}: ")
    assert len(found.episodes) == len(found.clips) == 3


def test_the_quickest_game_that_finished_is_the_best_though_its_torso_lands_before_the_line() -> None:
    table = to_table(replace(played(np.full(6, KEY_Q, np.uint8)), metres=100.5, outcome="finished"), INFO, 0)
    game = facts_in(table, INFO, decode_metadata(table.schema.metadata))
    games = [game, replace(game, metres=99.7, seconds=0.1), replace(game, metres=101.0, seconds=0.01, outcome="fell")]
    assert best_of(summarise(games, INFO)) == 1


def test_distance_ends_where_few_games_are_left() -> None:
    long, short = np.full(100, 0, np.uint8), np.full(10, 0, np.uint8)
    clips = [clip_of(played(keys), INFO, "") for keys in (long, short, short, short)]
    assert [seconds for seconds, _ in distances(tuple(clips), 0.5)] == [0.0]
    assert len(distances(tuple(clips[:3]), 0.5)) == 7  # every half second of 100 frames


def test_speed_is_that_over_the_two_metres_around_a_place() -> None:
    def running(metres_a_second: float, frames: int) -> Clip:
        rows = np.zeros((frames, ROW), dtype=np.float32)
        rows[:, 0] = np.arange(frames) * metres_a_second / 30 * 10 + 0.001  # units
        return Clip("", rows)

    games = (running(3.0, 61), running(2.0, 61), running(1.0, 121))
    assert dict(speeds(games)) == {1: pytest.approx(2.0), 2: pytest.approx(2.0), 3: pytest.approx(2.0, abs=1.0)}


def test_a_raster_shows_a_key_while_it_is_down() -> None:
    clip = clip_of(played(np.repeat([KEY_Q, KEY_O], 6).astype(np.uint8)), INFO, "")
    picture = np.asarray(key_raster([clip]))
    q, o = picture[0], picture[2 * LANE]
    assert (q[: 6 * FRAME] == (31, 95, 168)).all()
    assert not (q[6 * FRAME :] == (31, 95, 168)).all(axis=1).any()
    assert (o[6 * FRAME :] == (199, 82, 42)).all()


def test_figures_of_a_strobe_are_not_cut_off() -> None:
    picture, begin, end = strobe(clip_of(played(np.zeros(45, np.uint8)), INFO, ""))
    assert 0 <= begin < end <= 1.5
    pixels = np.asarray(picture)
    assert (pixels[0] == 255).all()
    assert (pixels[:, 0] == 255).all(axis=1).mean() > 0.9


def test_a_report_is_a_page(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"out=report.pdf: expected the name of a page \(\.html\)"):
        ReportSettings(str(folder), out="report.pdf")
