"""A scripted person, for repeatable figures: another policy's keys, late and with slips."""

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...envs.engine import layout as at
from ...envs.names import ACTION_KEYS
from ...envs.qwop.motion import lean
from ...envs.qwop.observations import observe_as
from ...policies.policy import Policy
from .environment_stage import EnvironmentStage
from .game import CoachedGame
from .qwop_stage import QwopStage

LEANS = (-1.0, 0.2)
"""Leans of a runner's trunk that look usual, radians from upright; backwards is negative."""

LOWEST = 1.5
"""Height of the trunk, in units downwards from the start's, below which a runner looks as if it falls."""

CALM_SECONDS = 1.0
"""Time without trouble after which the person lets go."""

LONGEST_SLIP = 3
"""Frames for which a slip keeps the keys, at most."""

UNLIKELY = 0.2
"""Probability of an action under the person's policy, below which it looks wrong."""

LOOKED_BACK, AGREED = 15, 0.6
"""Decisions that the person has in mind, and the share of them that has to look right."""


@dataclass(frozen=True)
class Hands:
    """Delay and slips of the hands that play what was meant. late: frames. slips: share of the frames in which the keys
    are kept for one to `LONGEST_SLIP` frames."""

    late: int = 2
    slips: float = 0.05


class Eyes(Protocol):
    """Judgement of the present frame, by the present and the past, never the future."""

    def meant(self) -> int:
        """The keys that the person means, as bits."""
        ...

    def trouble(self) -> bool:
        """True if the play looks wrong."""
        ...


class QwopEyes:
    """Plays as a policy of QWOP would, and judges by the trunk's lean and height."""

    def __init__(self, policy: Policy, stage: QwopStage) -> None:
        self._policy, self._stage = policy, stage
        self._kind = str(policy.environment.all_settings["observation"])

    def meant(self) -> int:
        env = self._stage.env
        seen = observe_as(self._kind, env.state[None], env.events[None], env.hidden[None])
        return int(ACTION_KEYS[int(self._policy.act(seen)[0][0])])

    def trouble(self) -> bool:
        state = self._stage.state
        return not LEANS[0] < float(lean(state[None])[0]) < LEANS[1] or float(state[at.TORSO, at.Y]) > LOWEST


class EnvironmentEyes:
    """Plays as a policy of the same environment would, and judges by the share of actions that it would have taken."""

    def __init__(self, policy: Policy, stage: EnvironmentStage) -> None:
        self._policy, self._stage = policy, stage
        self._agreed: deque[bool] = deque(maxlen=LOOKED_BACK)

    def meant(self) -> int:
        likely = self._policy.probabilities(self._stage.observe()[None])[0]
        return int(likely.argmax()) + 1

    def trouble(self) -> bool:
        if self._stage.frame:
            before, done = self._stage.game.observations[-2][None], self._stage.game.actions[-1]
            self._agreed.append(bool(self._policy.probabilities(before)[0][done] >= UNLIKELY))
        return sum(self._agreed) < AGREED * len(self._agreed)


class ScriptedPerson:
    """Sees trouble and takes over, plays some frames late and with slips, and lets go after a second without trouble.

    whole: the person plays the whole game.
    """

    def __init__(
        self, game: CoachedGame, eyes: Eyes, hands: Hands, random: np.random.Generator, *, whole: bool = False
    ) -> None:
        self._game, self._eyes, self._hands, self._random, self._whole = game, eyes, hands, random, whole
        self._queue: deque[int] = deque()
        self._slip = 0
        self._calm = 0
        self._playing = False
        if whole:
            game.hand_over()

    def take_over(self) -> None:
        """Play from now on, until all is calm."""
        self._playing, self._calm, self._slip = True, 0, 0
        self._queue = deque([0] * self._hands.late)
        if not self._game.control.person:
            self._game.hand_over()

    def frame(self) -> int:
        """Look at the game, hand over if all is calm, and return the keys held in the next frame (bits)."""
        trouble = self._eyes.trouble()
        self._calm = 0 if trouble else self._calm + 1
        if not self._playing and (trouble or self._whole):
            self._playing, self._slip = True, 0
            self._queue = deque([0] * self._hands.late)
        if self._playing and not self._whole and self._calm > CALM_SECONDS * self._game.stage.fps:
            self._playing = False
            if self._game.control.person:
                self._game.hand_over()
        return self._keys() if self._playing else 0

    def _keys(self) -> int:
        meant = self._eyes.meant()
        if self._random.random() < self._hands.slips:
            self._slip = int(self._random.integers(1, LONGEST_SLIP + 1))
        self._queue.append(meant if self._slip == 0 else self._queue[-1] if self._queue else 0)
        self._slip = max(0, self._slip - 1)
        return self._queue.popleft()
