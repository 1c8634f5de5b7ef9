"""The origin of an episode: its identity within its source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from ..common.checks import quoted, without_none
from ..common.errors import BadInput


@dataclass(frozen=True)
class Origin:
    """Fields that identify an episode within its source; each is None if it does not apply.

    sha256: the first twelve digits of the hash of the file that was imported or that played. game: the episode's number
    in that file, or among the games of one policy and seed. seed: of all those games (`Episode.seed` is the reset's).
    greedy: True if the policy took its most probable actions, False if it drew them. played_in: environment that a
    policy played in, where that is not the one it was trained in. reconstructed: True if `qwop-dataset reconstruct`
    found the keys. differs: True if the episode was played elsewhere and the simulator's replay of its keys differs.
    page_game: twelve digits by which the recorder's page names a game, so that it is recorded once however often it is
    sent.
    """

    sha256: str | None = None
    game: int | None = None
    seed: int | None = None
    greedy: bool | None = None
    played_in: str | None = None
    reconstructed: bool | None = None
    differs: bool | None = None
    page_game: str | None = None

    def to_json(self) -> dict[str, object]:
        """The fields that are set, as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, data: Any) -> "Origin":
        """The inverse of `to_json`; BadInput for anything else."""
        if not isinstance(data, Mapping):
            raise BadInput(f"origin is {quoted(data)}, expected fields such as {{'game': 3}}")
        for name, value in data.items():
            if name not in _KINDS:
                raise BadInput(f"origin has a field {quoted(name)}, expected {', '.join(_KINDS)}")
            if type(value) is not _KINDS[name]:
                raise BadInput(f"origin.{name} is {quoted(value)}, expected {_KINDS[name].__name__}")
        return cls(**data)


NO_ORIGIN = Origin()

_KINDS = {name: without_none(hint) for name, hint in get_type_hints(Origin).items()}

_IN_WORDS = re.compile(
    r"(?P<reconstructed>reconstructed: )?(?P<name>.+) sha256:(?P<sha256>[0-9a-f]{12})"
    r"(?: (?P<mode>greedy|sampled)(?: after up to (?P<idle>\d{1,9}) idle frames)? seed (?P<seed>\d{1,18})"
    r"(?: in (?P<played_in>.+))?)? game (?P<game>\d{1,18})"
)

_DIFFERS = ", which differs from the simulator's game"


def from_words(text: str) -> tuple[str, Origin, int | None]:
    """Source, origin and `max_idle_frames` from the text that version 1 stored; other texts are names of sources."""
    found = _IN_WORDS.fullmatch(text)
    if found is None:
        name = text.removesuffix(_DIFFERS)
        return name, Origin(differs=True if name != text else None), None
    by_policy = found["mode"] is not None
    origin = Origin(
        sha256=found["sha256"],
        game=int(found["game"]),
        seed=int(found["seed"]) if by_policy else None,
        greedy=found["mode"] == "greedy" if by_policy else None,
        played_in=found["played_in"],
        reconstructed=True if found["reconstructed"] else None,
    )
    return found["name"], origin, int(found["idle"] or 0) if by_policy else None
