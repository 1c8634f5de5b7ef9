"""Comparison of a game played in the original with the simulator's replay of its keys."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..envs.engine.interface import TRIGONOMETRIES
from ..envs.qwop.observations import observe_as
from ..policies.rollout import Game
from .keys_game import first_that, in_simulator


@dataclass(frozen=True)
class Agreement:
    """A game in the original and the simulator's replay of its keys.

    frames: played. outcome: finished, fell, or stopped if the game did not end within these frames. metres: the score.
    largest_difference: of any number between the last observations (units, radians). trigonometry: the library, of
    `TRIGONOMETRIES`, by which the replay calculates.
    """

    index: int
    frames: int
    outcome: str
    metres: float
    simulator_frames: int
    simulator_outcome: str
    simulator_metres: float
    largest_difference: float
    trigonometry: str

    @property
    def agrees(self) -> bool:
        """True for the same frames, outcome and score, and the runner in the same place to the last bit."""
        return (self.frames, self.outcome, self.metres, 0.0) == (
            self.simulator_frames,
            self.simulator_outcome,
            self.simulator_metres,
            self.largest_difference,
        )


def compare(game: Game, task: Mapping[str, Any]) -> Agreement:
    """Play the keys of a game of the original in the simulator. `task`: the settings of the game's environment.

    Browsers differ in sine and cosine. The replay is the one that agrees with the game, or else the first library's.
    """
    return first_that((_compare(game, task, name) for name in TRIGONOMETRIES), lambda replayed: replayed.agrees)


def _compare(game: Game, task: Mapping[str, Any], trigonometry: str) -> Agreement:
    assert game.keys is not None
    here = in_simulator(np.concatenate(game.keys), trigonometry)
    replay = here.replay
    row = max(len(replay.states) - 1 - int(task.get("observation_lag", 0)), 0)
    assert replay.hidden is not None
    kind = str(task.get("observation", "features"))
    observation = observe_as(kind, replay.states[row], replay.events[row], replay.hidden[row])
    return Agreement(
        index=game.index,
        frames=sum(map(len, game.keys)),
        outcome=game.outcome,
        metres=float(game.info["score"]),
        simulator_frames=here.frames,
        simulator_outcome=here.outcome,
        simulator_metres=here.metres,
        largest_difference=float(np.abs(observation - game.observations[-1]).max()),
        trigonometry=trigonometry,
    )


def described(games: Sequence[Agreement]) -> str:
    """Describe how many games are the same in the simulator, and with which library of sine and cosine."""
    same = [game.trigonometry for game in games if game.agrees]
    sentence = f"same in the simulator, by their keys: {len(same)} of {len(games)}"
    others = [f"{same.count(name)} by {name}'s sine and cosine" for name in TRIGONOMETRIES[1:] if name in same]
    return sentence + "".join(f", {one}" for one in others)


def agreement_json(games: Sequence[Agreement]) -> dict[str, object]:
    """The entry of evaluation.json: the number of games that agree, and each game."""
    return {"agreeing": sum(game.agrees for game in games), "games": [asdict(game) for game in games]}
