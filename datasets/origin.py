"""The origin of an episode: its identity within its source."""

from dataclasses import asdict
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ..common.errors import BadInput, quoted

STRICT = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True, config=STRICT)
class Origin:
    """Fields that identify an episode within its source; each is None if it does not apply.

    sha256: the first twelve digits of the hash of the file that was imported or that played. game: the episode's number
    in that file, or among the games of one policy and seed. seed: of all those games (`Episode.seed` is the reset's).
    greedy: True if the policy took its most probable actions, False if it drew them. played_in: environment that a
    policy played in, where that is not the one it was trained in. reconstructed: True if `qwop-dataset reconstruct`
    found the keys. differs: True if the episode was played elsewhere and the simulator's replay of its keys differs.
    page_game: twelve digits that name a game that a person plays, so that it is recorded once however often it is sent.
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
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Any) -> "Origin":
        """The inverse of `to_json`; BadInput for anything else."""
        try:
            return cls(**data)
        except (TypeError, ValueError):  # pydantic's
            raise BadInput(f"origin is {quoted(data)}, expected fields such as {{'game': 3}}") from None


NO_ORIGIN = Origin()
