"""The data of one step of PPO's optimiser, and its results."""

from typing import NamedTuple

from torch import Tensor


class Minibatch(NamedTuple):
    """A minibatch of steps, [m, ...]: inputs of the policy's trunk, actions, log μ(a|s), advantages, returns, and π_T
    of a teacher."""

    inputs: Tensor
    actions: Tensor
    log_mu: Tensor
    advantage: Tensor
    returns: Tensor
    teacher: Tensor | None

    def take(self, part: Tensor) -> "Minibatch":
        # index_select copies whole rows; inputs[part] does not.
        return Minibatch._make(None if one is None else one.index_select(0, part) for one in self)


class Demonstrated(NamedTuple):
    """Decisions to imitate, [m, ...]: inputs of the policy's trunk, actions, and probabilities if there are any."""

    inputs: Tensor
    actions: Tensor
    probabilities: Tensor | None


class StepStats(NamedTuple):
    """Results of a step: log ρ and H(π(·|s)) of each decision, [m], the norm of the gradient, and losses by name."""

    log_ratio: Tensor
    entropy: Tensor
    gradient_norm: Tensor
    losses: dict[str, Tensor]
