"""Settings of ACER and of its loop."""

from dataclasses import dataclass

from ....common.settings import setting
from ....policies.sizes import HIDDEN
from ..settings import Discounted, LiveSettings, precision


@dataclass(frozen=True)
class AcerSettings(Discounted):
    """ACER (Wang et al. 2017), with demonstrations in replay. Defaults are stable-baselines', which the published
    system used, unless noted."""

    truncation: float = setting(10.0, "Bound c at which importance weights are truncated.", above=0)
    delta: float = setting(
        1.0,
        "Size δ of the trust region (published: 1, which rarely limits a step; 0.001 keeps a cloned runner running).",
        above=0,
    )
    alpha: float = setting(0.99, "Decay of the average network, per update.", at_least=0, at_most=1)
    q_coefficient: float = setting(0.5, "Weight of the critic's loss.", at_least=0)
    entropy_coefficient: float = setting(
        1e-4, "Weight of the entropy, times the phase's factor (stable-baselines: 0.01, where it has no effect).",
        at_least=0,
    )  # fmt: skip
    learning_rate: float = setting(
        2e-3,
        "RMSProp's learning rate, times the phase's factor (published: 7e-4 or less for batches of 20 decisions; here "
        "640).",
        above=0,
    )
    decay: float = setting(0.99, "RMSProp's decay.", at_least=0, below=1)
    epsilon: float = setting(1e-5, "RMSProp's ε, which keeps its divisor from 0.", above=0)
    max_gradient_norm: float = setting(10.0, "Gradients longer than this are scaled down.", above=0)
    reward_scale: float = setting(
        0.1, "Factor of every reward, so that Q stays in a range that a network learns quickly (published: 1).", above=0
    )
    bound_values: bool = setting(
        True,
        "Clip bootstrap values to the discounted returns of the episodes seen so far, plus a quarter of their range "
        "for improvement (published: no clipping).",
    )
    achieved_returns: bool = setting(
        False,
        "Learn demonstrated decisions by what their player achieved: the discounted return of the rest of the game is "
        "the target of Q and, where V exceeds it by more than its spread, ends the imitation. Demonstrations then need "
        "no importance weights, and imitation alone follows them (published: importance weights and Retrace).",
    )
    only_better: bool = setting(
        False,
        "Let demonstrations into memory only where their player achieved more than the policy expects of itself: "
        "sequences whose returns exceed V on average (Oh et al. 2018). A worse player's games then do no harm. In "
        "phases without live play, whose policy expects nothing yet, all enter.",
    )
    takeover_cost: float = setting(
        0.0,
        "Reward that a policy's decision costs after which a person took over, in demonstrations of shared control "
        "(RLIF, Luo et al. 2023).",
        at_least=0,
    )
    hidden: tuple[int, ...] = setting(HIDDEN, "Widths of a new network's hidden layers.", at_least=1, at_most=65_536)
    precision: str = precision()


@dataclass(frozen=True)
class AcerLoopSettings(LiveSettings):
    """Settings of ACER's loop."""

    replay_ratio: float = setting(
        4.0, "Updates from memory for each update from live play, on average (Poisson).", at_least=0, at_most=1000
    )
    capacity: int = setting(6400, "Sequences in memory.", at_least=1, at_most=100_000_000)
    start: int = setting(256, "Sequences that memory must hold before it is sampled.", at_least=1)
    value_decisions: int = setting(
        20_000,
        "Decisions played before the schedule begins, to fit Q to the initial policy; they do not count. 0: none; Q "
        "starts as in the policy's file.",
        at_least=0,
    )
