"""PPO agent: one update on each iteration's live play, which is then discarded."""

import copy
from typing import TYPE_CHECKING

import numpy as np
import torch

from ....common.errors import BadInput
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values
from ....pretrain.reaction import LONGEST_SECONDS, reaction
from ....pretrain.rows import Rows, rows_of
from ...schedules.environments import require_same_dynamics
from ...schedules.schedule import PUBLISHED_RATE
from ..agent import LiveAgent, MakeNetwork, of_kind
from .learner import PpoLearner
from .settings import PpoLoopSettings, PpoSettings

if TYPE_CHECKING:
    from ...run import Run


class PpoAgent(LiveAgent):
    """Learns from each iteration's live play; in phases with imitation, also from demonstrated decisions.

    With `overlap`, rollouts come from the policy of one update earlier; ratios refer to it, so clipping stays valid.
    """

    learner: PpoLearner

    @property
    def values(self) -> Values | None:
        return self.learner.values


def new_network(settings: PpoSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    kind = ValuedActor if settings.shared else Actor
    return lambda observation, actions, generator: kind(
        observation, actions, settings.hidden, generator, settings.convolutions
    )


def new_learner(network: Actor, settings: PpoSettings, seed: int, device: torch.device) -> PpoLearner:
    """Make a standalone learner, with an untrained value network."""
    values = Values(network.observation, settings.hidden, torch.Generator().manual_seed(seed + 1))
    return PpoLearner(network, values, settings, device, np.random.default_rng(seed))


def build(run: "Run[PpoSettings, PpoLoopSettings]") -> PpoAgent:
    """Make the agent, which trains the policy's network in place, starting from its value network or an untrained one.

    With `shared`, an `ActorCritic` without values becomes a `ValuedActor`.
    """
    for phase in run.settings.phases:
        if phase.uses_demonstrations or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm=ppo has no memory; leave out demonstrations and live, "
                "or choose algorithm=acer (imitation needs no memory)"
            )
    demonstrated = _to_imitate(run) if any(phase.imitates for phase in run.settings.phases) else None
    values, chosen = copy.deepcopy(run.policy.values), run.algorithm
    generator = torch.Generator().manual_seed(run.settings.seed)
    network: Actor | ActorCritic
    if isinstance(run.policy.network, Actor):
        network = run.policy.network
    else:
        network = of_kind(run.policy.network, ActorCritic, "ppo")
    if chosen.shared and not isinstance(network, ValuedActor):
        if values is not None or type(network) is not ActorCritic:
            raise BadInput(
                f"algorithm.shared=true: the policy's network is {network.architecture}"
                f"{'' if values is None else ' with values of its own'}, which cannot take a head for V(s) on its own "
                "layers; start from policy=scratch or a policy of qwop-pretrain, or set algorithm.shared=false"
            )
        network = ValuedActor.from_actor_critic(network, generator)
    if values is None and not isinstance(network, ValuedActor):
        values = Values(network.observation, chosen.hidden, generator, chosen.convolutions)
    learner = PpoLearner(network, values, chosen, run.device, run.for_agent, demonstrated)
    return PpoAgent(learner, run.log.metrics)


def _to_imitate(run: "Run[PpoSettings, PpoLoopSettings]") -> Rows:
    if run.demonstrations is None:
        raise BadInput("imitation: the run has no demonstrations; name them (demonstrations=data/kurodo)")
    require_same_dynamics(run.settings.phases, run.policy.environment, run.demonstrations)
    lag = run.algorithm.reaction
    if lag is None:
        rate = run.policy.environment.capabilities.decisions_per_second or PUBLISHED_RATE
        lag = reaction(run.demonstrations, run.policy.probabilities, round(LONGEST_SECONDS * rate))
    rows = rows_of(run.demonstrations, policy=0.0, lag=lag)
    if not len(rows):
        raise BadInput(
            f"{run.demonstrations.folder}: a person acted in none of its decisions; there is none to imitate"
        )
    return rows
