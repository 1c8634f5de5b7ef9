"""The settings of `qwop-population`."""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..common.errors import BadInput
from ..common.imports import without_module
from ..common.settings import Settings, choice_of, nested, setting
from ..common.shared_settings import LONGEST_IDLE, device, max_idle_frames, num_envs, seed
from ..envs.names import NUMBERS
from ..finetune.agents.ppo.settings import require_two_decisions
from ..finetune.distributed.settings import Local, RaySettings
from .agents import AGENTS, FtwAgents, PpoAgents, VtraceAgents
from .evolution import BETTER, CHANCE, CHANGE, FRAMES, Choice, Range

if TYPE_CHECKING:
    from ..envs.spec import EnvironmentSpec

RACE = "QWOPRace-v1"

FIRST = "first"
"""Folder of the initial agents; in `evaluation.against`, all of them."""


@dataclass(frozen=True)
class RaceSettings(Settings):
    """The races. Agents learn faster if they decide 15 times a second than if 30 times, as the champion does."""

    frames_per_step: int = setting(2, "Game frames (30 a second) per decision.", at_least=1, at_most=3600)
    observation: str = setting(
        "contact",
        "Numbers of the runner itself: the 71 of the published recordings, 94 (full) or 112 (contact).",
        choices=[*NUMBERS],
    )
    time_limit: float = setting(100.0, "Seconds of the game clock after which a race is stopped.", above=0)
    standstill: float = setting(
        10.0,
        "Seconds after which a race of learners is stopped if no runner still up has gained half a metre.",
        above=0,
    )
    max_idle_frames: int = max_idle_frames(30)


@dataclass(frozen=True)
class WorkSettings(Settings):
    """The play of one agent in a round."""

    num_games: int = num_envs(32, "Games of an agent side by side.")
    steps: int = setting(
        25, "Decisions of each game that an agent learns from at once: an unroll.", at_least=1, at_most=10_000
    )
    unrolls: int = setting(20, "Unrolls of an agent in a round.", at_least=1, at_most=10_000)
    opponents: int = setting(
        1,
        "Opponents that an agent meets in a round, drawn with replacement. Each costs about as much time as the agent.",
        at_least=1,
        at_most=1000,
    )

    @property
    def decisions(self) -> int:
        """Decisions of an agent in a round."""
        return self.num_games * self.steps * self.unrolls


@dataclass(frozen=True)
class PpoWorkSettings(WorkSettings):
    """The play of one PPO agent in a round: many games and long unrolls, without which PPO learns little."""

    num_games: int = 64
    steps: int = 64
    unrolls: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        require_two_decisions("num_games", self.num_games, self.steps)


WORK = {"ftw": WorkSettings, "ppo": PpoWorkSettings, "vtrace": WorkSettings}
"""Settings of an agent's play by `agent.name`."""


@dataclass(frozen=True)
class KickstartingSettings(Settings):
    """Kickstarting (Schmitt et al. 2018): agents with a teacher also learn to act like it, less and less."""

    weight: float = setting(1.0, "First weight of imitating the teacher, beside the agent's own objective.", at_least=0)
    decisions: int = setting(
        1_000_000, "Decisions of an agent over which that weight falls to zero, linearly.", at_least=1
    )

    def at(self, decisions: int) -> float:
        """Weight after this many decisions of an agent."""
        return self.weight * max(0.0, 1.0 - decisions / self.decisions)


@dataclass(frozen=True)
class EvolutionSettings(Settings):
    """Exploit and explore (Jaderberg et al. 2019)."""

    enabled: bool = setting(True, "Let agents copy better ones. false: each learns on its own.")
    burn_in: int = setting(
        500_000,
        "Decisions that an agent learns from before its first copy, and between copies. If it is short, all soon "
        "descend from whoever does not fall.",
        at_least=0,
    )
    better: float = setting(
        BETTER, "Probability of losing against a random other agent above which it is copied.", at_least=0.5, below=1
    )
    chance: float = setting(CHANCE, "Probability that an inherited value changes.", at_least=0, at_most=1)
    change: float = setting(CHANGE, "Relative size of such a change, up or down.", at_least=0, below=1)
    redraw: float = setting(
        0.01, "Probability that an inherited internal reward is redrawn, so that its sign can change.",
        at_least=0, at_most=1,
    )  # fmt: skip
    frames_per_step: tuple[int, ...] | None = setting(
        None,
        "Game frames per decision that evolve like a hyper-parameter, such as [1,2]: every agent but the first draws "
        "one. null: all have that of race.",
        at_least=1,
        at_most=3600,
    )
    fade: float = setting(
        0.9, "Factor by which a match's weight in the ratings shrinks each round.", above=0, at_most=1
    )


@dataclass(frozen=True)
class VersusSettings(Settings):
    """The final races that judge the best agent."""

    games: int = setting(
        301, "Races against each; number k begins with k idle frames. 0: none.", at_least=0, at_most=LONGEST_IDLE + 1
    )
    finalists: int = setting(
        4,
        "Highest rated agents that race each other like this first; the best is the one that wins most. 1: the highest "
        "rated one is the best.",
        at_least=1,
    )
    against: tuple[str, ...] = setting(
        ("first",),
        "Policies to race against: files, champion, or first (all initial agents, in turn). The rivals are added.",
        path=True,
    )
    greedy: bool = setting(True, "Always take the most probable action; else draw it.")
    num_games: int = num_envs(64, "Races side by side; the results do not depend on it.")


@dataclass(frozen=True, kw_only=True)
class PopulationSettings(Settings):
    """The settings of `qwop-population`."""

    environment: str = setting(
        RACE,
        "QWOPRace-v1, or any Gymnasium id with discrete actions: matches then compare the returns of its episodes.",
    )
    agents: int = setting(12, "Agents that learn. 1: a single one, without evolution.", at_least=1, at_most=1000)
    rounds: int = setting(
        1000, "Rounds; in each, every agent plays and learns, and may then copy a better one.", at_least=1
    )
    ancestor_decisions: int = setting(
        0,
        "Decisions that the first agent learns from alone, against itself and for rewards chosen by hand; then the "
        "others begin as its copies, each with its own hyper-parameters and rewards. 0: all begin on their own.",
        at_least=0,
    )
    start: tuple[str, ...] | None = setting(
        None,
        "Policy files, or champion, for the first agents to start from, which may see less than an agent does; the "
        "others, or all with null, start from scratch.",
        path=True,
    )
    teachers: tuple[str, ...] | None = setting(
        None,
        "Policy files, or champion, that the first agents imitate at first, one each. Unlike those of start they may "
        "be of any shape, but have no memory.",
        path=True,
    )
    rivals: tuple[str, ...] | None = setting(
        None,
        "Policy files, or champion, that race too but never learn. The first one's rating is fixed at 1000.",
        path=True,
    )
    opponents: str = setting(
        "rated",
        "Choice of opponents: rated, those that an agent beats about half of the time; uniform, any agent; itself.",
        choices=["rated", "uniform", "itself"],
    )
    rewards: str = setting(
        "both",
        "Rewards of the events in races: both, chosen by hand at first, and evolving; varied, the same with a random "
        "factor between a third and three for each; drawn at random for each agent, and evolving; fixed, chosen by "
        "hand.",
        choices=["both", "varied", "drawn", "fixed"],
    )
    out: str = setting("runs/population", "Folder of the run: policies, checkpoints, history and report.", written=True)
    resume: bool = setting(
        False, "Continue the run in out, interrupted or over; it may get more rounds and another evaluation."
    )
    seed: int = seed("Decides everything random.")
    device: str = device()
    checkpoint_every: int = setting(1, "Rounds between checkpoints.", at_least=1)
    report_every: int = setting(5, "Rounds between updates of the report.", at_least=1)
    film_every: int = setting(50, "Rounds between films of the best agents' race in the report.", at_least=1)
    video: bool = setting(True, "Make films.")
    agent: FtwAgents | PpoAgents | VtraceAgents = choice_of(AGENTS, "ppo", "Agents of the population.")
    race: RaceSettings = nested(RaceSettings, "Races.")
    work: WorkSettings | PpoWorkSettings = choice_of(WORK, "ppo", "Play of one agent in a round.", follows="agent")
    kickstarting: KickstartingSettings = nested(KickstartingSettings, "Imitation of teachers.")
    evolution: EvolutionSettings = nested(EvolutionSettings, "Exploit and explore.")
    evaluation: VersusSettings = nested(VersusSettings, "Final races of the best agent.")
    distributed: Local | RaySettings = choice_of(
        {"local": Local, "ray": RaySettings}, "local", "Rounds here, or in other processes."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        known = without_module(self.environment, f"environment={self.environment}").removeprefix("qwop/")
        object.__setattr__(self, "environment", known)
        for name in ("start", "teachers"):
            if len(given := getattr(self, name) or ()) > self.agents:
                raise BadInput(f"{name}: {len(given)} policies for {self.agents} agents; give fewer, or more agents")
        if self.ancestor_decisions and len(self.start or ()) > 1:
            raise BadInput("start: several policies, but all agents begin as copies of one ancestor; give a single one")
        self._check_rates()
        if self.agents == 1 and self.is_race and not self.rivals and self.opponents != "itself":
            raise BadInput("agents=1: it has nobody to race against; give opponents=itself, or rivals=[champion]")

    def _check_rates(self) -> None:
        evolving = self.evolution.frames_per_step
        if not evolving:
            return
        if not self.is_race:
            raise BadInput(f"evolution.frames_per_step: {self.environment} is no race; leave it out")
        if self.rivals or self.teachers:
            raise BadInput("evolution.frames_per_step: rivals and teachers decide at one rate; leave out either")
        rates = sorted({self.race.frames_per_step, *evolving})
        if any(more % fewer for fewer, more in itertools.pairwise(rates)):
            raise BadInput(
                f"evolution.frames_per_step: {rates} with that of race: expected each to be a multiple of the one "
                "before, so that agents can race each other"
            )

    @property
    def genes(self) -> dict[str, Range | Choice]:
        """Values that evolve besides rewards, by name."""
        rates = self.evolution.frames_per_step
        return {**self.agent.genes, **({FRAMES: Choice(rates)} if rates else {})}

    @property
    def is_race(self) -> bool:
        """True if the agents race against each other."""
        return self.environment == RACE

    @property
    def task(self) -> "EnvironmentSpec":
        """The environment that the agents play."""
        from ..envs.spec import EnvironmentSpec  # with Gymnasium, which --help does without

        names = ("frames_per_step", "observation", "time_limit") if self.is_race else ()
        return EnvironmentSpec(self.environment, {name: getattr(self.race, name) for name in names})
