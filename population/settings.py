"""The settings of `qwop-population`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from ..common.errors import BadInput
from ..common.settings import Count, HomePath, OutFolder, Positive, Settings, Several, Share, Whole, Width
from ..common.shared_settings import LONGEST_IDLE, Device, EnvironmentId, IdleFrames, Seed
from ..envs.names import Numbers
from ..finetune.settings import Local, RaySettings
from .agents import FtwAgents, PpoAgents, VtraceAgents
from .evolution import BETTER, CHANCE, CHANGE

if TYPE_CHECKING:
    from ..envs.spec import EnvironmentSpec

RACE = "QWOPRace-v1"

FIRST = "first"
"""Folder of the initial agents; in `evaluation.against`, all of them."""


class RaceSettings(Settings):
    """The races. Agents learn faster if they decide 15 times a second than if 30 times, as the champion does."""

    frames_per_step: Annotated[int, Field(ge=1, le=3600)] = 2
    """Game frames (30 a second) per decision."""
    observation: Numbers = "contact"
    """Numbers of the runner itself: the 71 of the published recordings, 94 (full) or 112 (contact)."""
    time_limit: Positive = 100.0
    """Seconds of the game clock after which a race is stopped."""
    standstill: Positive = 10.0
    """Seconds after which a race of learners is stopped if no runner still up has gained half a metre."""
    max_idle_frames: IdleFrames = 30


class WorkSettings(Settings):
    """The play of one agent in a round."""

    name: Literal["vtrace", "ftw"] = Field(default="vtrace", exclude=True, repr=False)

    num_games: Width = 32
    """Games of an agent side by side."""
    steps: Annotated[int, Field(ge=1, le=10_000)] = 25
    """Decisions of each game that an agent learns from at once: an unroll."""
    unrolls: Annotated[int, Field(ge=1, le=10_000)] = 20
    """Unrolls of an agent in a round."""
    opponents: Annotated[int, Field(ge=1, le=1000)] = 1
    """Opponents that an agent meets in a round, drawn with replacement. Each costs about as much time as the agent."""

    @property
    def decisions(self) -> int:
        """Decisions of an agent in a round."""
        return self.num_games * self.steps * self.unrolls


class PpoWorkSettings(WorkSettings):
    """The play of one PPO agent in a round: many games and long unrolls, without which PPO learns little."""

    name: Literal["ppo"] = Field(default="ppo", exclude=True, repr=False)  # type: ignore[assignment]

    num_games: Width = 64
    steps: Annotated[int, Field(ge=2, le=10_000)] = 64
    unrolls: Annotated[int, Field(ge=1, le=10_000)] = 8


class EvolutionSettings(Settings):
    """Exploit and explore (Jaderberg et al. 2019)."""

    enabled: bool = True
    """Let agents copy better ones. false: each learns on its own."""
    burn_in: Whole = 500_000
    """Decisions that an agent learns from before its first copy, and between copies. If it is short, all soon descend
    from whoever does not fall."""
    better: Annotated[float, Field(ge=0.5, lt=1)] = BETTER
    """Probability of losing against a random other agent above which it is copied."""
    chance: Share = CHANCE
    """Probability that an inherited value changes."""
    change: Annotated[float, Field(ge=0, lt=1)] = CHANGE
    """Relative size of such a change, up or down."""
    redraw: Share = 0.01
    """Probability that an inherited internal reward is redrawn, so that its sign can change."""
    fade: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Factor by which a match's weight in the ratings shrinks each round."""


class VersusSettings(Settings):
    """The final races that judge the best agent."""

    games: Annotated[int, Field(ge=0, le=LONGEST_IDLE + 1)] = 301
    """Races against each; number k begins with k idle frames. 0: none."""
    finalists: Count = 4
    """Highest rated agents that race each other like this first; the best is the one that wins most. 1: the highest
    rated one is the best."""
    against: Several[HomePath] = ("first",)
    """Policies to race against: files, champion, or first (all initial agents, in turn). The rivals are added."""


class PopulationSettings(Settings):
    """The settings of `qwop-population`."""

    environment: Annotated[EnvironmentId, AfterValidator(lambda id: id.removeprefix("qwop/"))] = RACE
    """QWOPRace-v1, or any Gymnasium id with discrete actions: matches then compare the returns of its episodes."""
    agents: Annotated[int, Field(ge=1, le=1000)] = 12
    """Agents that learn. 1: a single one, without evolution."""
    rounds: Count = 1000
    """Rounds; in each, every agent plays and learns, and may then copy a better one."""
    start: Several[HomePath] | None = None
    """Policy files, or champion, for the first agents to start from, which may see less than an agent does; the others,
    or all with null, start from scratch."""
    rivals: Several[HomePath] | None = None
    """Policy files, or champion, that race too but never learn. The first one's rating is fixed at 1000."""
    opponents: Literal["rated", "itself"] = "rated"
    """Choice of opponents: rated, those that an agent beats about half of the time; itself."""
    rewards: Literal["both", "drawn", "fixed"] = "both"
    """Rewards of the events in races: both, chosen by hand at first, and evolving; drawn at random for each agent, and
    evolving; fixed, chosen by hand."""
    out: OutFolder = "runs/population"
    """Folder of the run: policies, checkpoints, history and report."""
    resume: bool = False
    """Continue the run in out, interrupted or over; it may get more rounds and another evaluation."""
    seed: Seed = 0
    """Decides everything random."""
    device: Device = "auto"
    video: bool = True
    """Film a race of the two best agents at the end."""
    agent: Annotated[FtwAgents | PpoAgents | VtraceAgents, Field(discriminator="name")] = PpoAgents()
    """Agents of the population."""
    race: RaceSettings = RaceSettings()
    """Races."""
    work: Annotated[WorkSettings | PpoWorkSettings, Field(discriminator="name")] = PpoWorkSettings()
    """Play of one agent in a round."""
    evolution: EvolutionSettings = EvolutionSettings()
    """Exploit and explore."""
    evaluation: VersusSettings = VersusSettings()
    """Final races of the best agent."""
    distributed: Annotated[Local | RaySettings, Field(discriminator="name")] = Local()
    """Rounds here, or in other processes."""

    leaders: ClassVar[Mapping[str, str]] = {"work": "agent"}

    def check(self) -> None:
        if len(self.start or ()) > self.agents:
            raise BadInput(
                f"start: {len(self.start or ())} policies for {self.agents} agents; give fewer, or more agents"
            )
        if self.agents == 1 and self.is_race and not self.rivals and self.opponents != "itself":
            raise BadInput("agents=1: it has nobody to race against; give opponents=itself, or rivals=[champion]")

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
