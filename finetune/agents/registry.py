"""The algorithms available to `algorithm=`. Their code, and with it PyTorch, is loaded on first use."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic import Field, create_model

from ...common.errors import BadInput, quoted
from ...common.imports import VARIABLE, import_modules, imported
from ...common.settings import Settings
from .acer.settings import AcerLoopSettings, AcerSettings
from .dqn.settings import DdqnLoopSettings, DdqnSettings, DqnLoopSettings, DqnSettings
from .ftw.settings import FtwSettings
from .ppo.settings import PpoLoopSettings, PpoSettings
from .rlpd.settings import RlpdLoopSettings, RlpdSettings
from .settings import Discounted, LiveSettings
from .vtrace.settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...policies.networks import Network
    from ..run import Run
    from .agent import Agent, LiveLearner


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and its parts.

    settings, loop: classes of its settings and of its loop's. module: a module or its name, with functions
    `build`, `new_network` and, if populations support it, `new_learner`. starts_from_scratch: policy=null means a new
    network, otherwise the pretrained policy or a clone of the demonstrations. asynchronous: corrects for rollouts
    of an older policy, so actors need not wait for each other. kickstarts: can imitate a teacher.
    """

    settings: type[Discounted]
    loop: type[LiveSettings]
    module: str | SimpleNamespace
    starts_from_scratch: bool = False
    asynchronous: bool = False
    kickstarts: bool = False

    def build(self, run: "Run[Discounted, LiveSettings]") -> "Agent":
        """Make the agent of a run, which trains the policy's network in place."""
        return cast("Agent", self._code.build(run))

    def new_network(self, settings: Settings, *interface: Any) -> "Network":
        """The untrained network of these settings, for policy=scratch. interface: the observation, or its size; the
        number of actions; and a generator of weights."""
        return cast("Network", self._code.new_network(settings, *interface))

    def new_learner(self, *parts: Any) -> "LiveLearner[Network, Settings]":
        """Make a standalone learner of a network, settings, a seed that decides everything random, and a device."""
        return cast("LiveLearner[Network, Settings]", self._code.new_learner(*parts))

    @property
    def _code(self) -> Any:
        return import_module(self.module, __package__) if isinstance(self.module, str) else self.module


ALGORITHMS: dict[str, Algorithm] = {
    "acer": Algorithm(AcerSettings, AcerLoopSettings, ".acer.learner", asynchronous=True),
    "ppo": Algorithm(PpoSettings, PpoLoopSettings, ".ppo.learner", kickstarts=True),
    "dqn": Algorithm(DqnSettings, DqnLoopSettings, ".dqn.learner", starts_from_scratch=True),
    "ddqn": Algorithm(DdqnSettings, DdqnLoopSettings, ".dqn.learner", starts_from_scratch=True),
    "rlpd": Algorithm(RlpdSettings, RlpdLoopSettings, ".rlpd.learner", starts_from_scratch=True),
    "vtrace": Algorithm(VtraceSettings, VtraceLoopSettings, ".vtrace.learner", True, True, True),
    "ftw": Algorithm(FtwSettings, VtraceLoopSettings, ".ftw.learner", True, True, True),
}
"""Algorithms by `algorithm.name`."""

BUILT_IN = frozenset(ALGORITHMS)
"""Algorithms of this package."""

GROUP = "qwop.algorithms"
"""Group of entry points whose modules register algorithms."""

C = TypeVar("C", bound=Settings)


def register_algorithm(
    name: str,
    *,
    settings: type[Discounted],
    agent: "Callable[[Run[Any, Any]], Agent]",
    loop: type[LiveSettings] = LiveSettings,
    network: "Callable[..., Network] | None" = None,
    starts_from_scratch: bool = False,
    kickstarts: bool = False,
) -> None:
    """Make an algorithm of one's own available as `algorithm=<name>`, in every command and in Python.

    settings, loop: classes of the algorithm's settings, and of those of live play and memory. agent: makes the agent of
    a run, which trains `run.policy.network` in place. network: makes the untrained network of policy=scratch, as
    `Algorithm.new_network` does; None: an `ActorCritic` with the widths `settings.hidden`, or two layers of 64.
    starts_from_scratch: policy=null means such a network, not a clone. kickstarts: the agent imitates the teacher of a
    phase. BadInput for a name that is none, or that an algorithm of this package has.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in BUILT_IN:
        raise BadInput(f"register_algorithm: name={quoted(name)}, expected another, of small letters and digits")
    module = SimpleNamespace(build=agent, new_network=network or _actor_critic)
    kinds = _named(settings, name, visible=True), _named(loop, name, visible=False)
    ALGORITHMS[name] = Algorithm(*kinds, module, starts_from_scratch, kickstarts=kickstarts)
    offer = getattr(sys.modules.get("qwop.finetune.settings"), "offer_algorithms", None)
    if offer is not None:
        offer()


def import_algorithms() -> None:
    """Import the modules that register algorithms: those of installed packages, and those named in `QWOP_IMPORTS`."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # anybody's module may fail in any way
            raise BadInput(
                f"the algorithm {point.name} of {point.value} cannot be imported ({type(error).__name__}: {error})"
            ) from error
    if modules := imported():
        import_modules(modules, f"{VARIABLE}={','.join(modules)}")


def _named(settings: type[C], name: str, *, visible: bool) -> type[C]:
    """The class of settings with the algorithm's name, by which it is chosen. visible: the name is written to files."""
    field: Any = (Literal[name], Field(default=name, exclude=not visible, repr=visible))
    about = settings.__doc__
    return create_model(settings.__name__, __base__=settings, __module__=settings.__module__, __doc__=about, name=field)


def _actor_critic(settings: Any, *interface: Any) -> "Network":
    from ...policies.networks import ActorCritic

    observation, actions, generator = interface
    return ActorCritic(observation, actions, getattr(settings, "hidden", (64, 64)), generator)
