"""Whether a game that was played in the original is the same in the simulator, by its keys."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..envs.names import EVENT_COLUMNS
from ..envs.qwop.observations import observe, observe_full
from ..envs.qwop.replay import replay
from ..envs.qwop.task import outcome_of
from ..policies.rollout import Game

_SCORE = EVENT_COLUMNS.index("score")


@dataclass(frozen=True)
class Agreement:
    """A game in the original and its keys in the simulator: frames played, how it ended (stopped: not within these
    frames), the score, and by how much the last observations differ at most (units, radians).
    """

    index: int
    frames: int
    outcome: str
    metres: float
    simulator_frames: int
    simulator_outcome: str
    simulator_metres: float
    largest_difference: float

    @property
    def agrees(self) -> bool:
        """The same number of frames, the same ending and score, and the runner in the same place to the last bit."""
        return (self.frames, self.outcome, self.metres, 0.0) == (
            self.simulator_frames,
            self.simulator_outcome,
            self.simulator_metres,
            self.largest_difference,
        )


def compare(game: Game, task: Mapping[str, Any]) -> Agreement:
    """Play the keys of a game of `QWOPOriginal-v1`, whose settings `task` are, in the simulator; see `Agreement`."""
    assert game.keys is not None
    keys = np.concatenate(game.keys)
    played = replay(keys)
    outcome = outcome_of(played.events[-1])
    row = max(len(played.states) - 1 - int(task.get("observation_lag", 0)), 0)
    if task.get("observation", "features") == "full":
        assert played.hidden is not None
        seen = observe_full(played.states[row], played.events[row], played.hidden[row])
    else:
        seen = observe(played.states[row])
    return Agreement(
        index=game.index,
        frames=len(keys),
        outcome=game.outcome,
        metres=float(game.info["score"]),
        simulator_frames=len(played.states) - 1,
        simulator_outcome="stopped" if outcome == "running" else outcome,
        simulator_metres=float(played.events[-1, _SCORE]),
        largest_difference=float(np.abs(seen - game.observations[-1]).max()),
    )


def agreement_json(games: Sequence[Agreement]) -> dict[str, Any]:
    """For evaluation.json: how many agree, and each."""
    return {"agreeing": sum(game.agrees for game in games), "games": [asdict(game) for game in games]}
