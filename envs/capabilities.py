"""Abilities of environments beyond Gymnasium's interface, so that code need not check their names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Capabilities:
    """Abilities that shared code may rely on; by default an environment has none. Its class declares them, for the
    settings it is made with, by a class method `capabilities(**settings)`.

    decisions_per_second: of the game's clock, if it has one (`info["clock"]`, seconds).
    idle_start: games may begin with up to `max_idle_frames` frames without a key, or with as many as
        `reset(options={"idle_frames": k})` says.
    deterministic: a game depends on its idle frames and its actions alone, not on the seed.
    runs: games are runs; `info` has `score` and `distance` (metres), `time` (seconds from the first key) and `outcome`.
    keys: decisions are keys held for a number of frames (`info["frames"]`), from which `replay` plays a game again;
        `info` also has `clock` and `outcome`.
    saved_games: its vector form saves and restores single games (`save_game`, `put_game`).
    original: the id of the same task in the page of the original game.
    action_names, observation_names: of every action and every number observed.
    feature_names: of every feature that its vector form provides apart from the observations (`seen_numbers`).
    group: neighbouring environments of its vector form that play one game together; their number is a multiple of it.
    training: its vector form takes `training=True`, with which a lost life ends an episode, though the game goes on
        (`infos["game_goes_on"]`).
    parallel: its vector form computes without Python's lock, so that other work can go on beside its games.
    idle_limit: its vector form takes `idle_limit`, the decisions without an event after which a game is truncated.
    settings: every setting of the task, with the default of those that were left out.
    """

    decisions_per_second: float | None = None
    idle_start: bool = False
    deterministic: bool = False
    runs: bool = False
    keys: bool = False
    saved_games: bool = False
    original: str | None = None
    action_names: tuple[str, ...] | None = None
    observation_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    group: int = 1
    training: bool = False
    parallel: bool = False
    idle_limit: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def info_names(self) -> frozenset[str]:
        """Names of infos that have the meaning given above; an environment may use any other name as it likes."""
        declared = {
            ("score", "distance", "time", "idle_frames"): self.runs,
            ("outcome",): self.runs or self.keys,
            ("clock",): self.keys or self.decisions_per_second is not None,
            ("frames", "late"): self.keys,
            ("game_goes_on",): self.training,
        }
        return frozenset(name for names, able in declared.items() if able for name in names)


NONE = Capabilities()
