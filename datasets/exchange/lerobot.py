"""From LeRobot: a folder of Parquet files with a row for each decision, described by `meta/info.json` (version 2 or 3).

`action` is needed; `next.reward` and `next.done` are taken where they are. The observation is all features that begin
with `observation.` and are numbers, side by side; pictures and films are left out. The files have no observation after
an episode's last decision.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...common.checks import quoted
from ...common.errors import BadInput, naming
from ...common.reading import MEGABYTE, CannotBeRead, parse_json, read_bytes
from ..arrays import ArrayForm
from .imported import Imported, Unknown
from .parquet import parquet_files
from .table_files import columns_of, imported_table, numbers_of
from .table_reading import read_table

INFO = Path("meta", "info.json")

EXPECTED = "expected the description of a LeRobot dataset"

PARTS = {"action": "action", "reward": "next.reward", "terminated": "next.done", "episode": "episode_index"}
"""Features of the parts of a decision."""

ORDER = ["episode_index", "frame_index"]

SEEN = "observation."

PICTURES = ("image", "video")


def is_lerobot(path: Path) -> bool:
    """True for the folder of a LeRobot dataset."""
    return (path / INFO).is_file()


def read(path: Path, unknown: Unknown, columns: Mapping[str, Any]) -> Imported:
    """Open a folder, whose environment has to be given.

    columns: features of `action`, `reward`, `terminated`, `truncated` and `observation` (one or a list), where they
    differ. BadInput for a dataset without actions, or of pictures alone.
    """
    form = ArrayForm.of(unknown.environment)  # first, for a table can be long
    features = _features(path / INFO)
    seen = [name for name in features if name.startswith(SEEN)]
    pictures = [name for name in seen if features[name] in PICTURES]
    numbers = [name for name in seen if name not in pictures]
    names = {part: name for part, name in PARTS.items() if name in features} | dict(columns)
    if not names.get("observation", numbers):
        found = f"only pictures ({', '.join(pictures)}), which are not imported" if pictures else "no observations"
        raise BadInput(f"{path}: has {quoted(found, 120)}; name numbers with columns.observation=[…]")
    names.setdefault("observation", numbers)

    def needed(found: Sequence[str], index: Collection[str]) -> list[str]:
        if missing := [name for name in ORDER if name not in found]:
            raise BadInput(f"its rows have no column {missing[0]}, expected LeRobot's")
        return [*ORDER, *columns_of(found, names, index)]

    table, _ = read_table(path, parquet_files(path / "data"), needed)
    for name in table.columns:
        if features.get(name) not in PICTURES and _lists_of_one(table[name].iloc[:1].tolist()):
            table[name] = table[name].str[0]
    with naming(path):
        for name in ORDER:
            table[name] = numbers_of(table, name)
    made = imported_table(table.sort_values(ORDER, ignore_index=True), names, form, unknown, path)
    left_out = [] if "observation" in columns else pictures
    return replace(made, notes=[*made.notes, *(f"left out: {name}, a picture" for name in left_out)])


def _features(path: Path) -> dict[str, str]:
    """The types of the features, by name."""
    try:
        info = parse_json(read_bytes(path, MEGABYTE, EXPECTED))
        return {str(name): str(feature["dtype"]) for name, feature in info["features"].items()}
    except CannotBeRead:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: its features cannot be read ({quoted(error, 80)}); {EXPECTED}") from None


def _lists_of_one(first: list[Any]) -> bool:
    return bool(first) and hasattr(first[0], "__len__") and not isinstance(first[0], str | bytes) and len(first[0]) == 1
