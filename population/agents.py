"""Kinds of agents for a population: the settings of each, and the genes that vary among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..common.errors import BadInput
from ..common.settings import Settings, setting
from ..finetune.agents.ftw.settings import FtwSettings
from ..finetune.agents.ppo.settings import PpoSettings
from ..finetune.agents.registry import ALGORITHMS, Algorithm
from ..finetune.agents.settings import Discounted, precision
from ..finetune.agents.vtrace.settings import VtraceSettings
from .evolution import Range

Genes = Mapping[str, float]
"""Hyper-parameters by name."""


WEIGHTS = ("reward_prediction", "feature_control", "posterior_kl", "prior_kl", "slow_gradient")
"""Genes of two-timescale agents that are settings of the same name."""


ENDS = "the lowest and the highest value, such as [0.001, 0.01]"
"""Expected of a range."""


def gene(low: float, high: float, help: str, expected: str = ENDS, **bounds: Any) -> Any:
    """Declare a range as a setting: the lowest and the highest initial value of a gene."""
    return setting((low, high), f"Initial range of {help}.", expected=expected, **(bounds or {"at_least": 0}))


@dataclass(frozen=True)
class PopulationAgents(Discounted):
    """Settings common to the agents of all populations. Each agent draws its genes log-uniformly from their ranges; a
    gene whose range has equal ends is fixed. The ranges are those of Jaderberg et al. 2019 unless noted; their learning
    rates begin at 1e-5."""

    gene_names: ClassVar[tuple[str, ...]] = ("learning_rate", "entropy")

    gamma: float = 0.985
    gamma_rate: float = 10.0
    learning_rate: tuple[float, ...] = gene(3e-4, 5e-3, "the learning rate", above=0)
    entropy: tuple[float, ...] = gene(5e-4, 1e-2, "the weight of the entropy")
    passes: int = setting(
        2, "Passes over each unroll; importance weights allow more than one.", at_least=1, at_most=100
    )
    hidden: tuple[int, ...] = setting(
        (128,), "Widths of the layers, which come before the memory if there is one.", at_least=1, at_most=65_536
    )
    weight_average: int = setting(
        200_000,
        "Recent decisions over which the weights of the policies that are saved and judged are averaged; at most a "
        "tenth of an agent's. 0: the last weights.",
        at_least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.gene_names:
            ends = getattr(self, name)
            if len(ends) != 2 or ends[0] > ends[1] or 0 == ends[0] < ends[1]:
                raise BadInput(f"{name}={list(ends)}: expected {ENDS}, or twice the same")

    @property
    def algorithm(self) -> Algorithm:
        """The agents' algorithm, which makes their networks and learners from `settings`."""
        return ALGORITHMS[next(name for name, kind in AGENTS.items() if kind is type(self))]

    @property
    def genes(self) -> dict[str, Range]:
        """The initial range of each gene."""
        ends = {name: getattr(self, name) for name in self.gene_names}
        return {name: Range(low, high, logarithmic=True) for name, (low, high) in ends.items()}

    def settings(self, genes: Genes) -> Settings:
        """The settings of the algorithm with these genes."""
        raise NotImplementedError

    def _common(self, genes: Genes) -> dict[str, Any]:
        rates = {"learning_rate": genes["learning_rate"], "entropy_coefficient": genes["entropy"]}
        return {**rates, "hidden": self.hidden}


@dataclass(frozen=True)
class PpoAgents(PopulationAgents):
    """Agents without a memory that learn by PPO: many times as many decisions a second as with one. The ranges lie
    around the defaults of `qwop-finetune algorithm=ppo`."""

    gamma: float = 0.975
    learning_rate: tuple[float, ...] = gene(3e-4, 2e-3, "the learning rate", above=0)
    entropy: tuple[float, ...] = gene(3e-4, 5e-3, "the weight of the entropy")
    passes: int = 3
    hidden: tuple[int, ...] = (512, 256)
    gae_lambda: float = setting(0.97, "Trace decay λ of the advantage estimates.", at_least=0, at_most=1)
    minibatch: int = setting(1024, "Decisions of a step of learning.", at_least=1)
    precision: str = precision()

    def settings(self, genes: Genes) -> PpoSettings:
        return PpoSettings(
            **self._common(genes),
            epochs=self.passes,
            gae_lambda=self.gae_lambda,
            minibatch=self.minibatch,
            precision=self.precision,
        )


@dataclass(frozen=True)
class VtraceAgents(PopulationAgents):
    """Recurrent agents that learn by V-trace: one time scale and no auxiliary tasks."""

    memory: int = setting(128, "Units of an LSTM.", at_least=1, at_most=65_536)

    def settings(self, genes: Genes) -> VtraceSettings:
        return VtraceSettings(**self._common(genes), passes=self.passes, memory=self.memory)


@dataclass(frozen=True)
class FtwAgents(VtraceAgents):
    """Agents with two time scales and auxiliary tasks (Jaderberg et al. 2019).

    The weights of the divergences end where the paper's begin (0.001 to 1 and 0.0001 to 0.1), for our rewards are
    smaller; docs/populations.md has measurements.
    """

    gene_names = (*PopulationAgents.gene_names, *WEIGHTS, "period")

    reward_prediction: tuple[float, ...] = gene(0.1, 1.0, "the weight of reward prediction")
    feature_control: tuple[float, ...] = gene(0.01, 0.1, "the weight of feature control")
    posterior_kl: tuple[float, ...] = gene(1e-5, 1e-3, "the weight of the divergence between fast and slow core")
    prior_kl: tuple[float, ...] = gene(1e-6, 1e-4, "the weight of the slow core's divergence from its own prior")
    slow_gradient: tuple[float, ...] = gene(0.1, 1.0, "the factor of the gradient from fast to slow core")
    period: tuple[int, ...] = gene(
        5, 20, "the decisions between two of the slow core, drawn uniformly; [1, 1] is one time scale",
        "two whole numbers from 1 to 10,000, such as [5, 20]", at_least=1, at_most=10_000,
    )  # fmt: skip
    latent: int = setting(64, "Numbers in the latent variable z.", at_least=1, at_most=65_536)

    @property
    def genes(self) -> dict[str, Range]:
        low, high = self.period
        return {**super().genes, "period": Range(low, high, whole=True)}

    def settings(self, genes: Genes) -> FtwSettings:
        weights: dict[str, Any] = {name: genes[name] for name in WEIGHTS}
        return FtwSettings(
            **self._common(genes),
            **weights,
            period=round(genes["period"]),
            passes=self.passes,
            memory=self.memory,
            latent=self.latent,
        )


AGENTS = {"ftw": FtwAgents, "ppo": PpoAgents, "vtrace": VtraceAgents}
"""Kinds of agents by `agent.name`."""
