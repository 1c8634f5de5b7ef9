"""The parts of an algorithm of one's own: settings, an agent, a learner, memories and demonstrations.

`register_algorithm` makes the algorithm available as `algorithm=<name>`; `examples/own_algorithm.py` is a whole one.
"""

from .common.settings import Count, NotNegative, Positive, Share
from .finetune.agents.agent import Agent, FractionalCounter, Learner
from .finetune.agents.registry import register_algorithm
from .finetune.agents.settings import Discounted as AlgorithmSettings
from .finetune.agents.settings import LiveSettings as LoopSettings
from .finetune.experience.sequences import DEMONSTRATIONS, NStep, Sequences, Transitions
from .finetune.log import UpdateStats
from .finetune.replay.demonstrations import Demonstrations, rows_for, sequences_for, transitions_for
from .finetune.replay.memory import SequenceMemory
from .finetune.replay.transition_memory import TransitionMemory
from .finetune.run import Run
from .finetune.schedules.phase import Phase, PhaseValues

__all__ = [
    "DEMONSTRATIONS",
    "Agent",
    "AlgorithmSettings",
    "Count",
    "Demonstrations",
    "FractionalCounter",
    "Learner",
    "LoopSettings",
    "NStep",
    "NotNegative",
    "Phase",
    "PhaseValues",
    "Positive",
    "Run",
    "SequenceMemory",
    "Sequences",
    "Share",
    "TransitionMemory",
    "Transitions",
    "UpdateStats",
    "register_algorithm",
    "rows_for",
    "sequences_for",
    "transitions_for",
]
