"""The settings of `qwop-finetune`. Importing them does not load PyTorch, so `--help` is fast."""

from dataclasses import dataclass

from ..common.errors import BadInput
from ..common.imports import without_module
from ..common.settings import Settings, choice_of, declarations, file_choice, nested, option_of, setting
from ..common.shared_settings import device, max_idle_frames, seed
from ..common.tracker import tracker
from ..evaluation.settings import DRAWN, EvaluationSettings
from .agents.registry import ALGORITHMS, Algorithm
from .agents.settings import Discounted, LiveSettings
from .distributed.settings import Local, RaySettings
from .replay.settings import BehaviourSettings
from .schedules.phase import Phase, parse_phases, plain_phases
from .schedules.stability import StabilitySettings

LAST, BEST = "last", "best"
"""Policies that a run can keep."""

_MODULE = r"['\"]?(?:[\w.]+:)?"
"""Beginning of an environment's id: quotes and the module that registers it, if they are there."""

_OURS = rf"{_MODULE}(?:qwop/)?QWOP(?:Race|Original)?(?:-v\d+)?['\"]?$"
"""The id of an environment of this package. MyQWOPlike-v0 and other/QWOP-v1 are none."""


@dataclass(frozen=True, kw_only=True)
class ScheduleSettings(Settings):
    """Phases of training, one after the other."""

    scale: float = setting(1.0, "Factor of every phase's length.", above=0, at_most=1000)
    decisions: int | None = setting(
        None, "Decisions of the whole schedule, to which all phases are scaled. null: by their own lengths and scale.",
        at_least=1, at_most=10**12,
    )  # fmt: skip
    algorithm: str | None = setting(
        None, "Algorithm that the phases are made for; used unless algorithm= chooses another."
    )
    environment: str | None = setting(
        None,
        "Environment that the phases are made for. In one of another package, the phases' settings of this one and "
        "their restarts are left out. null: nothing is.",
    )
    keep: str = setting(
        LAST,
        "Policy to keep at the end: the last one, or the best of those evaluated, including the initial one. Best "
        "means most greedy games finished, then most drawn ones, then the lower median time (without a track: the "
        "highest mean return).",
        choices=(LAST, BEST),
    )
    phases: tuple[Phase, ...] = setting(
        help="Phases in order, by name. Change one by schedule.phases.mixed.hours=5, add one by "
        "'+schedule.phases.polish={hours: 10}'.",
        expected="one phase or more, {name: {hours: …}}",
        parse=parse_phases,
        plain=plain_phases,
        entries=Phase,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decisions is not None and self.scale != 1.0:
            raise BadInput(f"decisions={self.decisions}: scale={self.scale:g} sets the length, too; give one of them")


@dataclass(frozen=True, kw_only=True)
class PhaseEvaluationSettings(EvaluationSettings):
    """The games after each phase."""

    episodes: int | None = setting(
        None,
        "Games after each phase. null: one for every number of idle frames where nothing else decides a game (greedy "
        f"games of QWOP without delay), else {DRAWN}. 0: none.",
        at_least=0,
    )
    greedy: bool | None = True
    drawn: int = setting(DRAWN, "Games with drawn actions, beside the greedy ones. 0: none.", at_least=0)


@dataclass(frozen=True, kw_only=True)
class FinetuneSettings(Settings):
    """The settings of `qwop-finetune`."""

    policy: str | None = setting(
        None,
        "Policy to start from: its file (.safetensors), champion, which comes with the package, or scratch, a new "
        "network. null: runs/pretrain/policy.safetensors if it exists and no demonstrations are named, else a clone of "
        "the demonstrations; scratch with algorithm=dqn, ddqn, rlpd, vtrace or ftw, or if an environment is named "
        "without demonstrations.",
        path=True,
    )
    demonstrations: str | None = setting(
        None,
        "Folder of the dataset of demonstrations. null: those that come with the package, if a phase uses any.",
        path=True,
    )
    teacher: str | None = setting(
        None,
        "Policy to imitate in the games that the policy plays, by the weight of the phases' kickstarting: its file, or "
        "champion. In QWOP it observes numbers, whatever the policy observes.",
        path=True,
    )
    environment: str | None = setting(
        None,
        "Gymnasium id such as CartPole-v1, of a new network without demonstrations; else the policy or the "
        "demonstrations name it. The module that registers it may stand in front (my_envs:Walk-v0).",
    )
    out: str = setting("runs/finetune", "Folder of the run: policy, checkpoints, log and report.", written=True)
    resume: bool = setting(
        False,
        "Continue the run in out, interrupted or over. Phases that have not started may be changed, and phases added.",
    )
    seed: int = seed("Decides everything random.")
    device: str = device()
    tracker: str = tracker()
    threads: int = setting(
        1,
        "Threads of the learner's arithmetic on a CPU (ppo: of each of its two networks, which learn side by side); "
        "live play and evaluations of QWOP use the other cores.",
        at_least=1,
        at_most=1024,
    )
    max_idle_frames: int = max_idle_frames(30)
    video: bool = setting(True, "Make a film of the last evaluation's best game.")
    schedule: ScheduleSettings = file_choice(
        "schedule",
        "Phases of training. A path that ends in .yaml is a schedule of your own.",
        example="kurodo",
        prefers="algorithm",
        default="kurodo",
        default_beside={"environment": "live-only"},
        preferred_beside={
            rf"environment={_MODULE}ALE/": "ppo-atari-fast",
            rf"environment=(?!null|{_OURS})": "ppo-small",
        },
        expected="give its length alone, as in environment=CartPole-v1 schedule.decisions=100000",
    )
    algorithm: Discounted = choice_of(
        {name: one.settings for name, one in ALGORITHMS.items()},
        "acer",
        "Learning algorithm, with its loop. Chosen neither here nor by the schedule, it is acer for QWOP, "
        "ppo-atari-fast for Atari's games and ppo-small elsewhere.",
    )
    loop: LiveSettings = choice_of(
        {name: one.loop for name, one in ALGORITHMS.items()}, "acer", "Live play and memory.", follows="algorithm"
    )
    distributed: Local | RaySettings = choice_of(
        {"local": Local, "ray": RaySettings}, "local", "Live play here, or by actors in other processes."
    )
    behaviour: BehaviourSettings = nested(BehaviourSettings, "Behaviour probabilities μ of demonstrations in replay.")
    stability: StabilitySettings = nested(StabilitySettings, "When to end the phases that last until_unstable.")
    evaluation: PhaseEvaluationSettings = nested(PhaseEvaluationSettings, "Games after each phase.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.environment is not None:
            object.__setattr__(self, "environment", without_module(self.environment, f"environment={self.environment}"))
        if self.schedule.keep == BEST and self.evaluation.episodes == 0:
            raise BadInput(
                "schedule.keep=best: chooses among evaluated policies, and evaluation.episodes=0 evaluates none; set "
                "schedule.keep=last, or play 1 game or more"
            )

    @property
    def starts_from_scratch(self) -> bool:
        """True if policy=null is a new network: by the algorithm, or if an environment but no dataset is named."""
        named = self.environment is not None and self.demonstrations is None
        return self.chosen_algorithm.starts_from_scratch or named

    @property
    def chosen_algorithm(self) -> Algorithm:
        """The algorithm that these settings configure."""
        return ALGORITHMS[self._algorithm_name]

    @property
    def _algorithm_name(self) -> str:
        return option_of(declarations(FinetuneSettings)["algorithm"], self.algorithm)

    def notes(self, environment: str) -> list[str]:
        """Warnings about settings that may be unintended for a policy of this environment."""
        from ..envs.registration import REGISTERED  # with Gymnasium, which --help does without

        made_for, name = self.schedule.algorithm, self._algorithm_name
        said = []
        if made_for is not None and made_for.partition("-")[0] != name:
            said.append(f"note: this schedule is made for algorithm={made_for}; the run learns by {name}")
        if environment not in REGISTERED and self.algorithm == type(self.algorithm)():
            said.append(
                f"note: algorithm={name} has the settings for QWOP; algorithm=ppo-small has those for small "
                "environments, algorithm=ppo-atari-fast those for pictures"
            )
        return said

    @property
    def phases(self) -> tuple[Phase, ...]:
        return self.schedule.phases

    @property
    def uses_demonstrations(self) -> bool:
        """True if demonstrations enter the memory in some phase."""
        return any(phase.uses_demonstrations for phase in self.phases)
