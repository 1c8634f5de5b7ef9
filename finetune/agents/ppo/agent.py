"""PPO as an agent: one update on each iteration's live play, which is then forgotten."""

import copy
from collections.abc import Callable
from typing import Any

import torch

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values
from ....policies.policy import Policy
from ....pretrain.rows import Rows, rows_of
from ...experience.sequences import Sequences
from ...schedules.environments import require_same_play
from ...schedules.phase import Phase, PhaseValues
from ...settings import RunSettings
from ..base import AgentContext, MakeNetwork
from .learner import PpoLearner
from .settings import PpoLoopSettings, PpoSettings


class PpoAgent:
    """Learns from each iteration's live play; in phases with imitation, also from demonstrated decisions.

    With `overlap`, an iteration is played by the policy before the last update. The ratios refer to that policy, so
    clipping stays valid.
    """

    def __init__(self, learner: PpoLearner, demonstrated: Rows | None, context: AgentContext) -> None:
        self.learner = learner
        self._demonstrated = demonstrated
        self._metrics = context.metrics
        self._generator = context.generator
        self._live: Sequences | None = None

    @property
    def network(self) -> Actor | ActorCritic:
        return self.learner.network

    @property
    def values(self) -> Values | None:
        return self.learner.values

    def warm_up(self, play: Callable[[], Sequences]) -> None:
        """Do nothing: values are learned along with the policy."""

    def observe(self, live: Sequences | None, now: PhaseValues) -> None:
        assert live is not None  # `build_ppo` refuses phases without live play
        self._live = self.learner.settings.learned(live)

    def update(self, now: PhaseValues) -> None:
        assert self._live is not None
        with self._metrics.stopwatch.on("learning"):
            diagnosis = self.learner.update(
                self._live,
                self._generator,
                learning_rate=now.learning_rate,
                entropy=now.entropy,
                critic_only=now.critic_only,
                imitation=now.imitation,
                teaching=now.teaching,
                demonstrated=self._demonstrated,
            )
        self._metrics.learned(diagnosis)

    def advance(self, decisions: int, planned: int) -> None:
        """Do nothing: no setting of PPO follows the schedule besides those of its phases."""

    def begin_phase(self, phase: Phase) -> None:
        """Do nothing: there is no memory."""

    def enter(self, decisions_per_second: float | None) -> None:
        self.learner.at_rate(decisions_per_second)

    def interrupt(self) -> None:
        """Do nothing: no sequence spans two iterations."""

    def measurements(self) -> dict[str, float]:
        return {}

    def get_state(self) -> dict[str, Any]:
        return {"generator": self._generator.bit_generator.state, "learner": self.learner.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        self._generator.bit_generator.state = state["generator"]
        self.learner.set_state(state["learner"])


def new_actor(settings: PpoSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    kind = ValuedActor if settings.shared else Actor
    return lambda observation, actions, generator: kind(
        observation, actions, settings.hidden, generator, settings.convolutions
    )


def build_ppo(
    policy: Policy,
    dataset: Dataset | None,
    settings: RunSettings[PpoSettings, PpoLoopSettings],
    context: AgentContext,
) -> PpoAgent:
    """Make the agent that learns the policy's network, in place, from the policy's values, or untrained ones.

    With `shared`, an `ActorCritic` without values becomes a `ValuedActor` first.
    """
    network = policy.network
    if not isinstance(network, Actor | ActorCritic):
        raise BadInput(
            f"algorithm=ppo: the policy's network is {network.architecture}, expected {Actor.architecture}, "
            f"{ValuedActor.architecture} or {ActorCritic.architecture}; start from policy=scratch or a policy of "
            "qwop-pretrain"
        )
    for phase in settings.phases:
        if phase.uses_demonstrations or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm=ppo has no memory; leave out demonstrations and live, "
                "or choose algorithm=acer (imitation needs no memory)"
            )
    demonstrated = None
    if any(phase.imitates for phase in settings.phases):
        if dataset is None:
            raise BadInput("imitation: the run has no demonstrations; name them (demonstrations=data/kurodo)")
        require_same_play(settings.phases, policy.environment, dataset)
        demonstrated = rows_of(dataset)
    values, chosen = copy.deepcopy(policy.values), settings.algorithm
    generator = torch.Generator().manual_seed(context.seed)
    if chosen.shared and not isinstance(network, ValuedActor):
        if values is not None or not isinstance(network, ActorCritic):
            raise BadInput(
                f"algorithm.shared=true: the policy's network is {network.architecture}"
                f"{'' if values is None else ' with values of its own'}, which cannot take a head for V(s) on its own "
                "layers; start from policy=scratch or a policy of qwop-pretrain, or set algorithm.shared=false"
            )
        network = ValuedActor.from_actor_critic(network, generator)
    if values is None and not isinstance(network, ValuedActor):
        values = Values(network.observation, chosen.hidden, generator, chosen.convolutions)
    learner = PpoLearner(network, values, settings.algorithm, context.device)
    learner.at_rate(context.decisions_per_second)
    return PpoAgent(learner, demonstrated, context)
