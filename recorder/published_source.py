"""`source=import`: published recordings as episodes."""

import os
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path

from ..common.errors import BadInput, naming
from ..datasets.behaviour_probabilities import SMOOTHED
from ..datasets.exchange.imported import ImportDefaults, imported_episode
from ..datasets.origin import Origin
from ..datasets.reconstruction.samples import write_samples
from ..datasets.schema import DatasetInfo, Episode, mu_in_words
from ..envs.names import ACTIONS, FEATURES
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .expert_file import EXPECTED, ExpertFile, read_expert_file
from .published_conversion import Converted, convert
from .settings import ImportSettings
from .source import Source, require_new

OBSERVATION_LAG = 1
"""Frames by which the observations of the published recordings lag the physics."""


def open_import(settings: ImportSettings, folder: Path) -> Source:
    """Open the games of all files, which are all read, validated and converted before the first game is yielded.

    Raises BadInput for a file that is not a published recording, whose decisions differ in length from the other
    files', or that `folder` already contains.
    """
    paths = find_files(settings.files)
    recordings = [read_expert_file(path) for path in paths]
    require_new(paths, [recording.digest for recording in recordings], folder)
    converted = []
    for path, recording in zip(paths, recordings, strict=True):
        with naming(path):
            converted.append(convert(recording))
    frames = _common_frames(paths, converted)
    spec = EnvironmentSpec(
        "QWOP-v1", {"frames_per_step": frames, "reward": "shaped", "observation_lag": OBSERVATION_LAG}
    )
    notes = [f"{path.name}: {note}" for path, file in zip(paths, converted, strict=True) for note in file.notes]
    info = DatasetInfo(spec, ObservationSpec((len(FEATURES),)), len(ACTIONS))
    return Source(
        info=info,
        episodes=_episodes(recordings, converted, info, settings, folder),
        total=sum(len(file.games) for file in converted),
        notes=[*notes, f"behaviour probabilities: {mu_in_words(SMOOTHED, settings.epsilon)}; recorded as {spec}"],
    )


def find_files(patterns: Sequence[str], example: str = "demos/kuro_try1.npz", expected: str = EXPECTED) -> list[Path]:
    """Find the files that paths and patterns ('demos/kuro_try*.npz') name, each once.

    Raises BadInput, which says what was `expected`, if one names none.
    """
    if not patterns:
        raise BadInput(f"source.files is empty: name the files, such as 'source.files=[{example}]'")
    files: dict[str, Path] = {}
    for pattern in patterns:
        path = Path(pattern)
        if path.exists() or not set(pattern) & set("*?["):
            matches = [path]
        else:
            matches = [Path(one) for one in sorted(glob(pattern, recursive=True))]
        if not matches:
            raise BadInput(f"{pattern}: no file of such a name; {expected}")
        for match in matches:
            files.setdefault(os.path.realpath(match), match)  # which a link to itself does not stop
    return list(files.values())


def _common_frames(paths: list[Path], converted: list[Converted]) -> int:
    """Round the mean length of a decision to whole frames; BadInput if files differ in it."""
    lengths = {path: max(1, round(file.frames_per_decision)) for path, file in zip(paths, converted, strict=True)}
    first, *others = lengths
    for other in others:
        if lengths[other] != lengths[first]:
            raise BadInput(
                f"{other}: its decisions last {lengths[other]} game frames, those of {first.name} {lengths[first]}; "
                "import them into separate datasets"
            )
    return lengths[first]


def _episodes(
    recordings: list[ExpertFile], converted: list[Converted], info: DatasetInfo, settings: ImportSettings, folder: Path
) -> Iterator[Episode]:
    for recording, file in zip(recordings, converted, strict=True):
        # The episodes' float32 would not do for `qwop-dataset reconstruct`.
        write_samples(folder, recording.digest, [recording.observations[rows] for rows in file.rows])
        for number, game in enumerate(file.games):
            yield imported_episode(
                info,
                ImportDefaults(settings.player, settings.epsilon),
                game.observations,
                game.actions,
                game.rewards,
                terminated=game.outcome != "stopped",
                source=recording.name,
                origin=Origin(sha256=recording.digest, game=number),
                times=game.times,
                outcome=game.outcome,
                metres=game.metres,
            )
