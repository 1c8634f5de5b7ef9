"""Kinds of agents for a population: the settings of each, and the genes that vary among them."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ..common.errors import BadInput
from ..common.settings import Count, Expected, NotNegative, Positive, Settings, Several, Share, Whole, Width
from ..finetune.agents.registry import ALGORITHMS, Algorithm
from ..finetune.agents.settings import Discounted, Precision
from .evolution import Range

Genes = Mapping[str, float]
"""Hyper-parameters by name."""


WEIGHTS = ("reward_prediction", "feature_control", "posterior_kl", "prior_kl", "slow_gradient")
"""Genes of two-timescale agents that are settings of the same name."""


GIVEN = ("hidden", "memory", "latent", "memory_slots", "passes", "gae_lambda", "minibatch", "precision")
"""Settings of agents that are settings of their algorithm."""


ENDS = "the lowest and the highest value, such as [0.001, 0.01]"
"""Expected of a range."""


Ends = Annotated[Several[NotNegative], Expected(ENDS)]
"""The initial range of a gene."""

PositiveEnds = Annotated[Several[Positive], Expected(ENDS)]


class PopulationAgents(Discounted):
    """Settings common to the agents of all populations. Each agent draws its genes log-uniformly from their ranges; a
    gene whose range has equal ends is fixed. The ranges are those of Jaderberg et al. 2019 unless noted; their learning
    rates begin at 1e-5."""

    gene_names: ClassVar[tuple[str, ...]] = ("learning_rate", "entropy")

    gamma: Share = 0.985
    gamma_rate: Positive = 10.0
    learning_rate: PositiveEnds = (3e-4, 5e-3)
    """Initial range of the learning rate."""
    entropy: Ends = (5e-4, 1e-2)
    """Initial range of the weight of the entropy."""
    passes: Annotated[int, Field(ge=1, le=100)] = 2
    """Passes over each unroll; importance weights allow more than one."""
    hidden: Several[Width] = (128,)
    """Widths of the layers, which come before the memory if there is one."""
    weight_average: Whole = 200_000
    """Recent decisions over which the weights of the policies that are saved and judged are averaged; at most a tenth
    of an agent's. 0: the last weights."""

    def check(self) -> None:
        super().check()
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
        kind, whole = self.algorithm.settings, {name for name, gene in self.genes.items() if gene.whole}
        names = {"entropy": "entropy_coefficient", "passes": "passes" if "passes" in kind.model_fields else "epochs"}
        values = {name: getattr(self, name) for name in GIVEN if hasattr(self, name)}
        values |= {name: round(value) if name in whole else value for name, value in genes.items()}
        return kind(**{names.get(name, name): value for name, value in values.items()})


class PpoAgents(PopulationAgents):
    """Agents without a memory that learn by PPO: many times as many decisions a second as with one. The ranges lie
    around the defaults of `qwop-finetune algorithm=ppo`."""

    name: Literal["ppo"] = "ppo"

    gamma: Share = 0.975
    learning_rate: PositiveEnds = (3e-4, 2e-3)
    """Initial range of the learning rate."""
    entropy: Ends = (3e-4, 5e-3)
    """Initial range of the weight of the entropy."""
    passes: Annotated[int, Field(ge=1, le=100)] = 3
    hidden: Several[Width] = (512, 256)
    gae_lambda: Share = 0.97
    """Trace decay λ of the advantage estimates."""
    minibatch: Count = 1024
    """Decisions of a step of learning."""
    precision: Precision = "float32"


class VtraceAgents(PopulationAgents):
    """Recurrent agents that learn by V-trace: one time scale and no auxiliary tasks."""

    name: Literal["vtrace"] = "vtrace"

    memory: Width = 128
    """Units of an LSTM."""


class FtwAgents(VtraceAgents):
    """Agents with two time scales and auxiliary tasks (Jaderberg et al. 2019).

    The weights of the divergences end where the paper's begin (0.001 to 1 and 0.0001 to 0.1), for our rewards are
    smaller.
    """

    name: Literal["ftw"] = "ftw"  # type: ignore[assignment]

    gene_names: ClassVar[tuple[str, ...]] = (*PopulationAgents.gene_names, *WEIGHTS, "period")

    reward_prediction: Ends = (0.1, 1.0)
    """Initial range of the weight of reward prediction."""
    feature_control: Ends = (0.01, 0.1)
    """Initial range of the weight of feature control."""
    posterior_kl: Ends = (1e-5, 1e-3)
    """Initial range of the weight of the divergence between fast and slow core."""
    prior_kl: Ends = (1e-6, 1e-4)
    """Initial range of the weight of the slow core's divergence from its own prior."""
    slow_gradient: Ends = (0.1, 1.0)
    """Initial range of the factor of the gradient from fast to slow core."""
    period: Annotated[
        Several[Annotated[int, Field(ge=1, le=10_000)]], Expected("two whole numbers from 1 to 10,000, such as [5, 20]")
    ] = (5, 20)
    """Initial range of the decisions between two of the slow core, drawn uniformly; [1, 1] is one time scale."""
    latent: Width = 64
    """Numbers in the latent variable z."""
    memory_slots: Annotated[int, Field(ge=0, le=4096)] = 0
    """Slots of the external memory that both LSTMs write and read. 0: none."""

    @property
    def genes(self) -> dict[str, Range]:
        low, high = self.period
        return {**super().genes, "period": Range(low, high, whole=True)}


AGENTS = {"ftw": FtwAgents, "ppo": PpoAgents, "vtrace": VtraceAgents}
"""Kinds of agents by `agent.name`."""
