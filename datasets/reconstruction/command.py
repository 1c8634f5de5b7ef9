"""`qwop-dataset reconstruct`: a dataset of imported recordings, frame by frame."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...common.command import Command
from ...common.errors import BadInput
from ...common.progress import plain_console, progress_bar
from ...common.settings import HomePath, OutFolder, Settings
from ...common.shared_settings import Smoothing
from ...envs.names import FEATURES, Numbers, Reward
from ..editing.new_dataset import finish, require_outside
from ..folder import next_number
from ..from_keys import episode_from_keys, qwop_info
from ..origin import Origin
from ..reader import Dataset, open_dataset
from ..schema import Episode
from ..writer import DatasetWriter
from .recording import ReconstructedGame, RecordingSearch
from .samples import read_samples


class ReconstructSettings(Settings):
    """The dataset to reconstruct, and the decisions, observations and rewards of the new one."""

    dataset: Annotated[HomePath, Field(examples=["data/kurodo"])]
    """Folder of a dataset of imported recordings."""
    out: Annotated[OutFolder, Field(examples=["data/kurodo-frames"])]
    """Folder of the new dataset; an interrupted one is continued."""
    frames_per_step: Annotated[int, Field(ge=1, le=3600)] = 3
    """Game frames per decision: 1, 2 and 3 make 30, 15 and 10 decisions a second."""
    reward: Reward = "shaped"
    """Reward of the new dataset."""
    observation: Numbers = "features"
    """Observations of the new dataset: 71 features, 94 (full) or 112 (contact)."""
    observation_lag: Literal[0, 1] = 0
    """Frames by which its observations lag the game; a recording has 1."""
    epsilon: Smoothing = 0.05


def run(settings: ReconstructSettings) -> None:
    """Reconstruct game by game, writing each as soon as its keys are known, and print the results."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    require_outside(out, [dataset.folder])
    recordings = _recordings(dataset)
    samples = {digest: read_samples(dataset.folder, digest) for digest in recordings}
    for digest, games in recordings.items():
        if (last := max(games)) >= len(samples[digest]):
            raise BadInput(
                f"{settings.dataset}: has game {last} of a recording with {len(samples[digest])} games; "
                "import the recording again"
            )
    names = ("frames_per_step", "reward", "observation", "observation_lag")
    writer = DatasetWriter(out, qwop_info(**{name: getattr(settings, name) for name in names}))
    there = {episode.label: episode for episode in open_dataset(out)} if next_number(out) else {}
    results: list[ReconstructedGame] = []
    try:
        with progress_bar("games", console) as progress:
            task = progress.add_task("reconstructing", total=len(dataset))
            for digest, games in recordings.items():
                search = RecordingSearch(int(dataset.info.environment.settings["frames_per_step"]))
                for number, numbers in enumerate(samples[digest][: max(games) + 1]):
                    imported = dataset[games[number]] if number in games else None
                    if imported is not None and imported.label in there:
                        search.continue_after(there[imported.label], numbers)
                    else:
                        game = search.reconstruct(numbers, outcome=imported.outcome if imported else "fell")
                        if imported is not None:
                            _write(game, imported, writer, settings.epsilon)
                            results.append(game)
                            if not game.whole:
                                console.print(f"{imported.label}: {game.explained} of {game.samples} samples")
                    progress.advance(task, int(imported is not None))
    except KeyboardInterrupt:
        console.print(f"stopped; the games found so far are in {out}, and the same command continues")
        raise
    if results:
        total, explained = (sum(getattr(game, name) for game in results) for name in ("samples", "explained"))
        whole = sum(game.whole for game in results)
        console.print(f"{whole} of {len(results)} games whole; {explained:,} of {total:,} samples, to the last bit")
    if next_number(out):
        finish(out, console)
    else:
        console.print(f"nothing could be reconstructed of {settings.dataset}")


def _write(game: ReconstructedGame, imported: Episode, writer: DatasetWriter, epsilon: float) -> None:
    """Write a game, if any of its keys are known, with the facts of the imported episode."""
    if len(game.keys):
        episode = episode_from_keys(
            game.keys, writer.info, player=imported.player, source=imported.source, epsilon=epsilon, start=game.start,
            origin=replace(imported.origin, reconstructed=True),
        )  # fmt: skip
        writer.write(episode)


def _recordings(dataset: Dataset) -> dict[str, dict[int, int]]:
    """Places of the games in the dataset, by the recording's digest and the game's number; BadInput for others."""
    info = dataset.info
    if info.environment.id.rpartition("/")[2] != "QWOP-v1" or info.observation.shape != (len(FEATURES),):
        raise BadInput(
            f"{dataset.folder}: a dataset of {info.environment}; expected imported recordings of QWOP-v1 with "
            f"{len(FEATURES)} numbers (qwop-record source=import)"
        )
    places: dict[str, dict[int, int]] = {}
    for place in range(len(dataset)):
        metadata = dataset.metadata(place)
        origin = Origin.from_json(metadata["origin"])
        if origin.sha256 is None or origin.game is None or origin.greedy is not None or origin.reconstructed:
            raise BadInput(
                f"{dataset.files[place]}: its source is {str(metadata['source'])[:60]!r}; expected an episode of an "
                "imported recording (qwop-record source=import)"
            )
        places.setdefault(origin.sha256, {})[origin.game] = place
    return places


command = Command(
    "dataset reconstruct",
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
