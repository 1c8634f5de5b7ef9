"""The training loop of PPO: what was just played is learned from, and forgotten."""

from typing import Any, Unpack

from ...loop import LiveSettings, Loop, LoopArguments
from .learner import PpoLearner


class OnPolicyTrainer(Loop):
    """Runs a schedule of live play alone: an iteration is one update on the newest sequences.

    With `overlap` they were played by the policy of one update ago; the ratios are to that policy, so the clip holds.
    """

    def __init__(self, *, learner: PpoLearner, settings: LiveSettings, **loop: Unpack[LoopArguments]) -> None:
        super().__init__(learner.network, settings, **loop)
        self._learner = learner

    def get_state(self) -> dict[str, Any]:
        return super().get_state() | {"learner": self._learner.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._learner.set_state(state["learner"])

    def _iterate(self) -> None:
        phase, progress = self._schedule.phase, self._schedule.progress
        played, returns = self._live()
        with self._log.stopwatch.on("learning"):
            diagnosis = self._learner.update(
                played,
                self._generator,
                learning_rate=phase.learning_rate.at(progress),
                entropy=phase.entropy.at(progress),
                critic_only=phase.critic_only,
            )
        self._log.learned(diagnosis)
        self._count(phase, returns)

    def _enter(self, decisions_per_second: float | None) -> None:
        self._learner.at_rate(decisions_per_second)
