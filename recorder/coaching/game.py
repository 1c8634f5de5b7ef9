"""A game that a policy plays and a person takes over, hands back and goes back in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...datasets.behaviour_probabilities import MIXED, RECORDED
from ...datasets.control import PERSON, POLICY, Branch
from ...datasets.schema import Episode
from ...policies.policy import Policy, choose
from ...policies.state import ArrayState
from .stage import Decision, Facts, Stage


class Control:
    """Decides who acts. A pressed key gives control to the person; some frames without a key give it back.

    release_frames: frames without a key after which the policy has control again. person: true while the person has
    control. waiting: true after going back, until a key is pressed or control is handed over.
    """

    def __init__(self, release_frames: int) -> None:
        self._release_frames = release_frames
        self._idle = 0
        self._ignored = 0
        self._holds = False
        self.person = False
        self.waiting = False

    def actor(self, held: int) -> int | None:
        """Actor of the next frame, in which the person holds these keys (bits); None while the game waits."""
        self._ignored &= held
        held &= ~self._ignored
        if held:
            self.person, self.waiting, self._holds, self._idle = True, False, False, 0
        elif self.waiting:
            return None
        elif self.person and not self._holds:
            self._idle += 1
            if self._idle > self._release_frames:
                self.person = False
        return PERSON if self.person else POLICY

    def hand_over(self, held: int = 0) -> None:
        """Give control to the other side. The policy keeps it until one of the keys `held` is pressed anew, or another
        one; the person keeps it without a key until the first one."""
        self.waiting = False
        self.person = not self.person
        self._holds, self._ignored = self.person, held
        self._idle = 0

    def wait(self, held: int = 0) -> None:
        """Wait, after going back, until one of the keys `held` is pressed anew, or another one."""
        self.person, self.waiting, self._idle, self._holds, self._ignored = False, True, 0, False, held


class CoachedGame:
    """One game, and the lines that it leaves by going back.

    A decision lasts `frames_per_step` frames, or until control changes, so that each belongs to one side and its
    probabilities are exact. number: of the first line. next_game: numbers later lines. drawn: draws the policy's
    actions; None: it plays greedily.
    """

    def __init__(
        self,
        stage: Stage,
        policy: Policy,
        facts: Facts,
        number: int,
        next_game: Callable[[], int],
        release_seconds: float,
        drawn: np.random.Generator | None,
    ) -> None:
        self.stage, self._policy, self._facts, self._next_game, self._drawn = stage, policy, facts, next_game, drawn
        self.control = Control(round(release_seconds * stage.fps))
        self.number = number
        self.branch: Branch | None = None
        self.decisions: list[Decision] = []
        self._marks: list[Any] = []
        self._memory: ArrayState = policy.initial_state(1)
        self._recorded = False
        self._begins = False
        """True after going back: the decision before that place is over, however short it was cut."""

    @property
    def over(self) -> bool:
        """True once the game has ended."""
        return self.stage.over

    @property
    def has_own(self) -> bool:
        """True if the current line has a decision that no other episode has."""
        return len(self.decisions) > (0 if self.branch is None else self.branch.step)

    def frame(self, held: int) -> None:
        """Play a frame in which the person holds these keys (bits), unless the game is over or waits."""
        if self.over or (actor := self.control.actor(held)) is None:
            return
        now = self.decisions[-1] if self.decisions else None
        if now is None or self._begins or now.actor != actor or self._lasted(now) >= self.stage.frames_per_step:
            self._begins = False
            self._marks.append((self.stage.mark(), self._memory))
            now = self._decide(actor)
            self.decisions.append(now)
        try:
            self.stage.play(held, now.action)
        finally:
            if now.frame == self.stage.frame:  # begun, and nothing played
                self._forget(len(self.decisions) - 1)

    def hand_over(self, held: int = 0) -> None:
        """Give control to the other side."""
        self.control.hand_over(held)

    def go_back(self, seconds: float, held: int = 0) -> Episode | None:
        """Return to the state at least `seconds` ago, at a decision's beginning, and wait for a key besides those that
        are `held` (bits).

        Returns the line that is left, None if all of it is in an episode already. BadInput if the stage cannot go back.
        """
        wanted = self.stage.frame - round(seconds * self.stage.fps)
        place = max((k for k, one in enumerate(self.decisions) if one.frame <= wanted), default=0)
        own = self.has_own
        left = self.episode() if own and not self._recorded else None
        if self.decisions:
            self.stage.go_back(self._marks[place][0])
            self._forget(place)
        if own:
            self.branch = Branch(self.number, place)
            self.number = self._next_game()
            self._recorded = False
        elif self.branch is not None:
            self.branch = Branch(self.branch.game, min(self.branch.step, place))
        self._begins = True
        self.control.wait(held)
        return left

    @property
    def recorded(self) -> bool:
        """True if all of the current line is in an episode."""
        return self._recorded or not self.has_own

    def record(self) -> Episode:
        """The game that is over, or left for good, as an episode. Going back later begins a branch of it."""
        self._recorded = True
        return self.episode()

    def episode(self) -> Episode:
        """The current line as far as it was played."""
        facts = replace(self._facts, origin=replace(self._facts.origin, game=self.number))
        made = self.stage.episode(self.decisions, facts)
        actors = np.array([one.actor for one in self.decisions], dtype=np.int8)
        behaviour = made.behaviour_probabilities.copy()
        for row, one in enumerate(self.decisions):
            if one.drawn_with is not None:
                behaviour[row] = one.drawn_with
        return replace(
            made,
            behaviour_probabilities=behaviour,
            **_mu_of(actors, made),
            actors=actors,
            policy_probabilities=np.stack([one.asked for one in self.decisions]),
            branch=self.branch,
        )

    def _lasted(self, decision: Decision) -> int:
        return self.stage.frame - decision.frame

    def _decide(self, actor: int) -> Decision:
        self._feed()
        asked, self._memory = self._policy.step(self.stage.observe()[None], self._memory)
        if actor == PERSON:
            return Decision(self.stage.frame, actor, None, None, asked[0])
        uniforms = None if self._drawn is None else self._drawn.random(1)
        actions, drawn_with = choose(asked, uniforms)
        return Decision(self.stage.frame, actor, int(actions[0]), drawn_with[0], asked[0])

    def _feed(self) -> None:
        """Feed a policy with a memory the action and reward of the previous decision of either side."""
        if self.decisions and self._memory:
            action, reward = self.stage.chosen(self.decisions[-1].frame)
            self._memory = self._policy.feed(self._memory, np.array([action]), np.array([reward], dtype=np.float32))

    def _forget(self, place: int) -> None:
        """Drop the decisions from number `place` on."""
        _, self._memory = self._marks[place]
        del self.decisions[place:], self._marks[place:]


def _mu_of(actors: NDArray[np.int8], made: Episode) -> dict[str, Any]:
    """Name the origin of μ: the policy's is recorded, the person's as in `made`."""
    if (actors == POLICY).all():
        return {"mu_kind": RECORDED, "mu_epsilon": None}
    return {"mu_kind": made.mu_kind if (actors == PERSON).all() else MIXED}
