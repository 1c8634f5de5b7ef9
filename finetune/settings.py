"""The settings of `qwop-finetune`. Importing them does not load PyTorch, so `--help` is fast."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import groupby
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from ..common.command import merge, option_settings
from ..common.errors import BadInput, one_of, quoted
from ..common.schema import Files, schema
from ..common.settings import Count, HomePath, OutFolder, Settings, Whole, read, to_plain
from ..common.shared_settings import Device, EnvironmentId, IdleFrames, Seed, TrackerName
from ..evaluation.settings import DRAWN, EvaluationSettings
from .agents.acer.settings import AcerLoopSettings, AcerSettings
from .agents.registry import ALGORITHMS, Algorithm, import_algorithms
from .agents.settings import Discounted, LiveSettings
from .replay.settings import BehaviourSettings
from .schedules.phase import AlgorithmOfPhases, Phase, Phases

BEST = "best"
"""`schedule.keep` of a run that leaves the best policy it evaluated."""

_OURS = re.compile(r"(?:[\w.]+:)?(?:qwop/)?QWOP(?:Race|Original)?(?:-v\d+)?")
"""The id of an environment of this package. MyQWOPlike-v0 and other/QWOP-v1 are none."""

_ATARI = re.compile(r"(?:[\w.]+:)?ALE/")

if TYPE_CHECKING:
    AnyAlgorithm: TypeAlias = Discounted
    AnyLoop: TypeAlias = LiveSettings
else:
    AnyAlgorithm = Annotated[reduce(or_, [one.settings for one in ALGORITHMS.values()]), Field(discriminator="name")]
    AnyLoop = Annotated[reduce(or_, [one.loop for one in ALGORITHMS.values()]), Field(discriminator="name")]


class ScheduleSettings(Settings):
    """Phases of training, one after the other."""

    phases: Phases
    """Phases in order, by name. Change one by schedule.phases.mixed.hours=5, add one by
    '+schedule.phases.polish={hours: 10}'."""
    scale: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """Factor of every phase's length."""
    decisions: Annotated[int, Field(ge=1, le=10**12)] | None = None
    """Decisions of the whole schedule, to which all phases are scaled. null: by their own lengths and scale."""
    algorithm: AlgorithmOfPhases = Field(default_factory=dict)
    """Algorithm that the phases are made for, an option of the group algorithm, or its name and settings; used unless
    algorithm= chooses another."""
    loop: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of its loop."""
    keep: Literal["last", "best"] = "last"
    """Policy to keep at the end: the last one, or the best of those evaluated, including the initial one. Best means
    most greedy games finished, then most drawn ones, then the lower median time (without a track: the highest mean
    return)."""

    def check(self) -> None:
        if self.decisions is not None and self.scale != 1.0:
            raise BadInput(f"decisions={self.decisions}: scale={self.scale:g} sets the length, too; give one of them")


class PhaseEvaluationSettings(EvaluationSettings):
    """The games after each phase."""

    episodes: Whole | None = Field(
        default=None,
        description="Games after each phase. null: one for every number of idle frames where nothing else decides a "
        f"game (greedy games of QWOP without delay), else {DRAWN}. 0: none.",
    )
    greedy: bool | None = True
    drawn: Whole = DRAWN
    """Games with drawn actions, beside the greedy ones. 0: none."""


class Local(Settings):
    """Live play, or all of a population, in one process."""

    name: Literal["local"] = "local"


class RaySettings(Settings):
    """Live play by actors on Ray (Moritz et al. 2018).

    Algorithms with importance weights for older live play (V-trace, ACER) use the first rollout that is ready; each
    actor then plays `loop.num_envs` games. For other algorithms the games are divided among the actors, which play
    synchronously. In a population each actor plays and trains for one agent at a time, with results bit-identical to
    those of a single process.
    """

    name: Literal["ray"] = "ray"
    actors: Annotated[int, Field(ge=1, le=4096)] = 2
    """Processes that play; those of a population learn, too."""
    address: str | None = None
    """Address of a running cluster, such as auto or ray://head:10001. null: start one on this machine."""


class FinetuneSettings(Settings):
    """The settings of `qwop-finetune`."""

    policy: HomePath | None = None
    """Policy to start from: its file (.safetensors), champion, which comes with the package, or scratch, a new network.
    null: runs/pretrain/policy.safetensors if it exists and no demonstrations are named, else a clone of the
    demonstrations; scratch with algorithm=dqn, ddqn, rlpd, vtrace or ftw, or if an environment is named without
    demonstrations."""
    demonstrations: HomePath | None = None
    """Folder of the dataset of demonstrations, or one that comes with the package: champion or amateur. null: the
    champion's, if a phase uses any."""
    teacher: HomePath | None = None
    """Policy to imitate in the games that the policy plays, by the weight of the phases' kickstarting: its file, or
    champion. In QWOP it observes numbers, whatever the policy observes."""
    environment: EnvironmentId | None = None
    """Gymnasium id such as CartPole-v1, of a new network without demonstrations; else the policy or the demonstrations
    name it. The module that registers it may stand in front (my_envs:Walk-v0)."""
    out: OutFolder = "runs/finetune"
    """Folder of the run: policy, checkpoints, log and report."""
    resume: bool = False
    """Continue the run in out, which was interrupted."""
    seed: Seed = 0
    """Decides everything random."""
    seeds: Count = 1
    """Runs, with the seeds from seed on: more than one go into folders of their own in out, and are compared."""
    device: Device = "auto"
    tracker: TrackerName = "tensorboard"
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Threads of the learner's arithmetic on a CPU (ppo: of each of its two networks, which learn side by side); live
    play and evaluations of QWOP use the other cores."""
    max_idle_frames: IdleFrames = 30
    video: bool = True
    """Make a film of the last evaluation's best game."""
    schedule: Annotated[
        ScheduleSettings,
        Files("kurodo", "give its length alone, as in environment=CartPole-v1 schedule.decisions=100000"),
    ]
    """Phases of training. A path that ends in .yaml is a schedule of your own."""
    algorithm: AnyAlgorithm = AcerSettings()
    """Learning algorithm, with its loop. Chosen neither here nor by the schedule, it is acer for QWOP, ppo-atari for
    Atari's games and ppo-small elsewhere. Its settings hold in all phases, of every algorithm that has them."""
    loop: AnyLoop = AcerLoopSettings()
    """Live play and memory."""
    distributed: Annotated[Local | RaySettings, Field(discriminator="name")] = Local()
    """Live play here, or by actors in other processes."""
    behaviour: BehaviourSettings = BehaviourSettings()
    """Behaviour probabilities μ of demonstrations in replay."""
    evaluation: PhaseEvaluationSettings = PhaseEvaluationSettings()
    """Games after each phase."""

    leaders: ClassVar[Mapping[str, str]] = {"loop": "algorithm"}

    @classmethod
    def default_option(cls, group: str, node: Mapping[str, Any], line: Mapping[str, str]) -> str | None:
        """A schedule for settings of one; the algorithm that a schedule names, or one for the environment."""
        if group == "schedule" and any(name.startswith("schedule.") for name in line):
            return "live-only" if "environment" in line else "kurodo"
        if group != "algorithm":
            return None
        if algorithm := _name_in(node.get("schedule")):
            return algorithm
        environment = line.get("environment", "null").strip("'\"")
        if environment == "null" or _OURS.fullmatch(environment):
            return None
        return "ppo-atari" if _ATARI.match(environment) else "ppo-small"

    @classmethod
    def complete(cls, node: dict[str, Any], line: Sequence[tuple[str, Any]], options: Mapping[str, str]) -> None:
        """Give the algorithm what the schedule sets for it, and phases what the options that they name set. The line's
        settings of the algorithm and its loop hold in every phase whose algorithm has them."""
        schedule = node.get("schedule")
        if not isinstance(schedule, dict):
            return
        of_line = {
            group: {name.partition(".")[2]: value for name, value in line if name.startswith(f"{group}.")}
            for group in ("algorithm", "loop")
        }
        if "algorithm" not in options and _name_in(schedule):
            preset = _preset(schedule, "schedule.algorithm")
            for group, values in of_line.items():
                if isinstance(node.get(group, {}), dict):
                    node[group] = {**preset.get(group, {}), **values}
        phases, first, places = schedule.get("phases"), _running(node), {*_places(line)}
        running = first
        for key, phase in phases.items() if isinstance(phases, dict) else ():
            if not isinstance(phase, dict):
                continue
            if _name_in(phase):
                phase.update(_preset(phase, f"schedule.phases.{key}.algorithm"))
                running = _name_in(phase) or running
            for group, values in of_line.items():
                for name, value in values.items():
                    inherits = not _name_in(phase) and name not in phase.get(group, {})
                    place = f"schedule.phases.{key}.{group}.{name}"
                    if name == "name" or inherits or not _has(running, group, name) or place in places:
                        continue
                    phase[group] = {**phase.get(group, {}), name: value}
                    if not _has(first, group, name):
                        node[group].pop(name, None)

    @cached_property
    def trained_by(self) -> tuple[tuple[Discounted, LiveSettings], ...]:
        """The algorithm and the loop of each phase; BadInput for settings that they do not have."""
        now, pairs = (self.algorithm, self.loop), []
        for phase in self.schedule.phases:
            if phase.algorithm or phase.loop:
                now = self._after(now, phase)
            pairs.append(now)
        return tuple(pairs)

    def _after(self, now: tuple[Discounted, LiveSettings], phase: Phase) -> tuple[Discounted, LiveSettings]:
        place, name = f"schedule.phases.{phase.name}", phase.algorithm.get("name", option_of(now[0]))
        if name not in ALGORITHMS:
            raise BadInput(f"{place}.algorithm.name={quoted(name)}: expected {one_of([*ALGORITHMS])}")
        base = [{} if "name" in phase.algorithm else to_plain(one) for one in now]
        algorithm = {**base[0], **phase.algorithm, "name": name}
        loop = {**base[1], **phase.loop, "name": name}
        kind = ALGORITHMS[name]
        return read(kind.settings, algorithm, f"{place}.algorithm"), read(kind.loop, loop, f"{place}.loop")

    def without(self, *kinds: str) -> "FinetuneSettings":
        """The settings in which phases for these kinds of policies have no length."""
        phases = [Phase(name=one.name, hours=0) if one.only in kinds else one for one in self.phases]
        return self.with_(schedule=self.schedule.with_(phases=tuple(phases)))

    def check(self) -> None:
        assert self.trained_by
        if self.schedule.keep == BEST and self.evaluation.episodes == 0:
            raise BadInput(
                "schedule.keep=best: chooses among evaluated policies, and evaluation.episodes=0 evaluates none; set "
                "schedule.keep=last, or play 1 game or more"
            )

    def stages(self) -> "list[FinetuneSettings]":
        """The settings of each stage: consecutive phases with the same algorithm and loop, the others having no length.

        Stages of length 0 are omitted; if all are, the first one is kept.
        """
        phases, trained_by, stages = self.schedule.phases, self.trained_by, []
        for (algorithm, loop), group in groupby(range(len(phases)), lambda number: trained_by[number]):
            inside = {*group}
            of_stage = tuple(
                phase if number in inside else Phase(name=phase.name, hours=0, environment=phase.environment)
                for number, phase in enumerate(phases)
            )
            schedule = self.schedule.with_(phases=of_stage)
            stages.append(self.with_(algorithm=algorithm, loop=loop, schedule=schedule))
        return [stage for stage in stages if any(map(has_length, stage.phases))] or stages[:1]

    @property
    def chosen_algorithm(self) -> Algorithm:
        """The algorithm that these settings configure."""
        return ALGORITHMS[option_of(self.algorithm)]

    @property
    def phases(self) -> tuple[Phase, ...]:
        return self.schedule.phases


def offer_algorithms() -> None:
    """Let `algorithm=` choose among all algorithms that are registered now."""
    for field, part in (("algorithm", "settings"), ("loop", "loop")):
        kinds = [getattr(one, part) for one in ALGORITHMS.values()]
        FinetuneSettings.model_fields[field].annotation = reduce(or_, kinds)
    FinetuneSettings.model_rebuild(force=True)
    schema.cache_clear()


def has_length(phase: Phase) -> bool:
    """True for a phase that is not left out."""
    return phase.length(1.0) > 0


def option_of(algorithm: Discounted) -> str:
    """The name of the algorithm that has these settings."""
    return next(name for name, one in ALGORITHMS.items() if one.settings is type(algorithm))


def _running(node: Mapping[str, Any]) -> str:
    """The algorithm that plain data begin with."""
    return schema(FinetuneSettings)["algorithm"].option(node.get("algorithm", {}))


def _name_in(node: object) -> str | None:
    """The algorithm that a schedule or a phase names in plain data."""
    algorithm = node.get("algorithm") if isinstance(node, Mapping) else None
    name = algorithm.get("name") if isinstance(algorithm, Mapping) else algorithm
    return name if isinstance(name, str) else None


def _preset(node: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The algorithm and the loop of a schedule or a phase: those of the option that it names, and its own settings."""
    preset = option_settings(schema(FinetuneSettings)["algorithm"], _name_in(node) or "", place)
    for group in ("algorithm", "loop"):
        if isinstance(own := node.get(group), Mapping):
            merge(preset, {group: {name: one for name, one in own.items() if name != "name"}})
    return preset


def _places(line: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield the places that a command line sets, by themselves or within braces."""
    for name, value in line:
        yield name
        if isinstance(value, Mapping):
            yield from _places((f"{name}.{key}", one) for key, one in value.items())


def _has(algorithm: str, group: str, name: str) -> bool:
    one = ALGORITHMS.get(algorithm)
    return one is not None and name in schema(one.settings if group == "algorithm" else one.loop)


import_algorithms()  # at the end: they may import this module
