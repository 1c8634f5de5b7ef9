"""`qwop-dataset reconstruct`: a dataset of imported recordings, frame by frame."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rich.table import Table

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.files import write_atomic
from ...common.progress import plain_console, progress_bar
from ...common.reading import MEGABYTE, parse_json, read_text
from ...common.settings import HomePath, OutFolder, Settings
from ...common.shared_settings import Smoothing
from ...envs.names import FEATURES, Numbers, Reward
from ..editing.new_dataset import finish, require_outside
from ..folder import ASIDE, next_number
from ..from_keys import episode_from_keys, qwop_info
from ..origin import Origin
from ..reader import Dataset, open_dataset
from ..schema import DatasetInfo, Episode
from ..subcommand import Subcommand
from ..writer import DatasetWriter
from .recording import ReconstructedGame, RecordingSearch
from .samples import read_samples


class ReconstructSettings(Settings):
    """The dataset to reconstruct, and the decisions, observations and rewards of the new one."""

    dataset: Annotated[HomePath, Field(examples=["data/kurodo"])]
    """Folder of a dataset of imported recordings."""
    out: Annotated[OutFolder, Field(examples=["data/kurodo-frames"])]
    """Folder of the new dataset; an interrupted one is continued."""
    frames_per_step: Annotated[int, Field(ge=1, le=3600)] | None = 3
    """Game frames per decision: 1, 2 and 3 make 30, 15 and 10 decisions a second. null: the recording's own decisions,
    about 9 a second and of unequal length."""
    reward: Reward = "shaped"
    """Reward of the new dataset."""
    observation: Numbers = "features"
    """Observations of the new dataset: 71 features, 94 (full) or 112 (contact)."""
    observation_lag: Literal[0, 1] = 0
    """Frames by which its observations lag the game; a recording has 1."""
    epsilon: Smoothing = 0.05


REPORT = "reconstruction.json"
"""File in the new dataset's folder `aside`, with a row for every game that was tried."""

COLUMNS = ("source", "samples", "explained", "frames", "error", "outcome", "seconds", "earlier_games")
"""Entries of a row."""

LARGEST_REPORT = 16 * MEGABYTE
"""Bytes; a game has about 400."""


Row = dict[str, Any]
"""The result for one game, see `_row`."""


def run(settings: ReconstructSettings) -> None:
    """Reconstruct game by game, writing each as soon as its keys are known, and print the results."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    _require_recordings(dataset)
    require_outside(out, [dataset.folder])
    recordings = _recordings(dataset)
    samples = {digest: read_samples(dataset.folder, digest) for digest in recordings}
    for digest, games in recordings.items():
        if missing := [game for game in games if game >= len(samples[digest])]:
            raise BadInput(
                f"{settings.dataset}: has game {missing[0]} of a recording with {len(samples[digest])} games; "
                "import the recording again"
            )
    writer = DatasetWriter(out, new_info(dataset.info, settings))
    report = Report(out)
    try:
        with progress_bar("games", console) as progress:
            task = progress.add_task("reconstructing", total=len(dataset))
            for digest, games in recordings.items():
                for _ in _reconstruct(dataset, samples[digest], games, settings, writer, report):
                    progress.advance(task)
    except KeyboardInterrupt:
        console.print(f"stopped; the games found so far are in {out}, and the same command continues")
        raise
    console.print(report.table())
    if next_number(out):
        finish(out, console)
    else:
        console.print(f"nothing could be reconstructed of {settings.dataset}")


def new_info(info: DatasetInfo, settings: ReconstructSettings) -> DatasetInfo:
    """Description of the new dataset."""
    frames = settings.frames_per_step or int(info.environment.settings["frames_per_step"])
    return qwop_info(
        frames_per_step=frames,
        reward=settings.reward,
        observation=settings.observation,
        observation_lag=settings.observation_lag,
    )


class Report:
    """The rows of the games tried so far, kept in the new dataset's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ASIDE / REPORT
        rows: list[Row] = []
        if self.path.exists():
            text = read_text(self.path, LARGEST_REPORT, "give out= a new folder")
            try:
                rows = [{name: row[name] for name in COLUMNS} for row in parse_json(text)]
            except (ValueError, TypeError, KeyError) as error:
                raise BadInput(f"{self.path}: cannot be read ({quoted(error)}); give out= a new folder") from None
        self.rows: dict[str, Row] = {row["source"]: row for row in rows}

    def add(self, row: Row) -> None:
        self.rows[row["source"]] = row
        write_atomic(self.path, json.dumps([*self.rows.values()], indent=1) + "\n")

    def table(self) -> Table:
        """A line for every game."""
        table = Table(title="reconstructed to the last bit", title_justify="left")
        for name in ("recording", "game", "samples", "frames", "outcome", "time", "next sample"):
            table.add_column(name, justify="left" if name in ("recording", "outcome") else "right")
        for row in self.rows.values():
            recording, _, game = row["source"].rpartition(" game ")
            table.add_row(
                recording.rpartition(" sha256:")[0],
                game,
                f"{row['explained']} of {row['samples']}",
                f"{row['frames']:,}",
                row["outcome"],
                f"{row['seconds']:.2f} s" if row["seconds"] is not None else "",
                "" if _is_whole(row) else f"off by {row['error']:.1g}",
            )
        samples, explained = (sum(row[name] for row in self.rows.values()) for name in ("samples", "explained"))
        whole = sum(map(_is_whole, self.rows.values()))
        table.caption = f"{whole} of {len(self.rows)} games whole; {explained:,} of {samples:,} samples"
        return table


def _require_recordings(dataset: Dataset) -> None:
    info = dataset.info
    if info.environment.id.rpartition("/")[2] != "QWOP-v1" or info.observation.shape != (len(FEATURES),):
        raise BadInput(
            f"{dataset.folder}: a dataset of {info.environment}; expected imported recordings of QWOP-v1 with "
            f"{len(FEATURES)} numbers (qwop-record source=import)"
        )


def _recordings(dataset: Dataset) -> dict[str, dict[int, int]]:
    """Places of the games in the dataset, by the recording's digest and the game's number."""
    found: dict[str, dict[int, int]] = {}
    for place in range(len(dataset)):
        metadata = dataset.metadata(place)
        origin = Origin.from_json(metadata["origin"])
        if origin.sha256 is None or origin.game is None or origin.greedy is not None or origin.reconstructed:
            raise BadInput(
                f"{dataset.files[place]}: its source is {str(metadata['source'])[:60]!r}; expected an episode of an "
                "imported recording (qwop-record source=import)"
            )
        found.setdefault(origin.sha256, {})[origin.game] = place
    return found


def _reconstruct(
    dataset: Dataset,
    samples: list[NDArray[np.float64]],
    games: dict[int, int],
    settings: ReconstructSettings,
    writer: DatasetWriter,
    report: Report,
) -> Iterator[Row]:
    """Reconstruct the games of one recording in their order; yields a row for each of the dataset's."""
    search = RecordingSearch(int(dataset.info.environment.settings["frames_per_step"]))
    written = _written(writer.folder)
    for number in range(max(games) + 1):
        place = games.get(number)
        imported = dataset[place] if place is not None else None
        source = imported.label if imported else ""
        if source in report.rows and (source in written or report.rows[source]["frames"] < 1):
            earlier = written.get(source)
            if earlier is None or earlier.start is None or earlier.keys is None:
                search.lose_page()
            else:
                whole = _is_whole(report.rows[source])
                search.continue_after(earlier.start, np.concatenate(earlier.keys), whole=whole)
            yield report.rows[source]
            continue
        game = search.reconstruct(samples[number], outcome=imported.outcome if imported else "fell")
        if imported is None:
            continue
        episode = _episode(game, imported, writer.info, settings)
        if episode is not None and source not in written:
            writer.write(episode)
        report.add(_row(game, imported, episode))
        yield report.rows[source]


def _written(folder: Path) -> dict[str, Episode]:
    """The episodes reconstructed so far, by the source of the imported ones."""
    if next_number(folder) == 0:
        return {}
    return {episode.label: episode for episode in open_dataset(folder)}


def _episode(
    game: ReconstructedGame, imported: Episode, info: DatasetInfo, settings: ReconstructSettings
) -> Episode | None:
    """The episode of a game; None if no frame of it is known."""
    if not len(game.keys):
        return None
    own = [*game.frames[game.frames > 0].tolist(), len(game.keys)]
    return episode_from_keys(
        game.keys,
        info,
        player=imported.player,
        source=imported.source,
        origin=replace(imported.origin, reconstructed=True),
        epsilon=settings.epsilon,
        start=game.start,
        bounds=None if settings.frames_per_step else [0, *own],
    )


def _row(game: ReconstructedGame, imported: Episode, episode: Episode | None) -> Row:
    """The result for one game, with the names in `COLUMNS`. source: the label of its imported episode. frames: those
    proved by the samples, after the reset's. error: distance of the closest state to the first sample that the keys do
    not reproduce."""
    return {
        "source": imported.label,
        "samples": game.samples,
        "explained": game.explained,
        "frames": game.certain,
        "error": game.error,
        "outcome": episode.outcome if episode else "unknown",
        "seconds": None if episode is None or episode.times is None else float(episode.times[-1]),
        "earlier_games": len(game.start.before),
    }


def _is_whole(row: Row) -> bool:
    return bool(row["explained"] == row["samples"])


command = Subcommand(
    "dataset-reconstruct",
    ReconstructSettings,
    run,
    about="Find the keys of every frame of imported recordings, and write them as a dataset that replays exactly.",
    examples=[
        ("qwop-dataset reconstruct data/kurodo out=data/kurodo-frames", ""),
        (
            "qwop-dataset reconstruct data/kurodo out=data/kurodo-30 frames_per_step=1 observation=full",
            "30 decisions a second, 94 features",
        ),
    ],
)
