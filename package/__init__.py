"""From recorded games of QWOP to a runner: record, clone, fine-tune with demonstrations in replay, evaluate.

`import qwop` imports little: a public name is imported when it is first used. The environments are registered where
Gymnasium was imported before; `gymnasium.make("qwop:QWOP-v1")` needs no such order. Policies and their evaluation need
PyTorch (`pip install 'qwop[train]'`), everything else does not.
"""

import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

from .common.lazy import lazy_names

if TYPE_CHECKING:
    from .api import CloneResult, FinetuneResult, Print, Schedule, evaluate, finetune, pretrain
    from .common.errors import BadInput
    from .compare.main import Comparison, compare
    from .datasets import Dataset, DatasetInfo, DatasetWriter, Episode, embedded_dataset, open_dataset
    from .datasets.arrays import write_episode
    from .envs import EnvironmentSpec, Replay, replay
    from .envs.qwop.keys_file import read_keys, write_keys
    from .envs.vector import make_vector
    from .evaluation.evaluate import Evaluation
    from .finetune.agents.registry import register_algorithm
    from .finetune.schedules.phase import Phase
    from .policies.files import load_policy, save_policy
    from .policies.policy import Policy
    from .policies.rollout import Game, play
    from .recorder.collector import Collector

__all__ = [
    "BadInput",
    "CloneResult",
    "Collector",
    "Comparison",
    "Dataset",
    "DatasetInfo",
    "DatasetWriter",
    "EnvironmentSpec",
    "Episode",
    "Evaluation",
    "FinetuneResult",
    "Game",
    "Phase",
    "Policy",
    "Print",
    "Replay",
    "Schedule",
    "__version__",
    "compare",
    "embedded_dataset",
    "evaluate",
    "finetune",
    "load_policy",
    "make_vector",
    "open_dataset",
    "play",
    "pretrain",
    "read_keys",
    "register_algorithm",
    "replay",
    "save_policy",
    "write_episode",
    "write_keys",
]

_MODULES = {
    ".api": ("CloneResult", "FinetuneResult", "Print", "Schedule", "evaluate"),
    ".common.errors": ("BadInput",),
    ".compare": ("compare",),
    ".compare.main": ("Comparison",),
    ".datasets": ("Dataset", "DatasetInfo", "DatasetWriter", "Episode", "embedded_dataset", "open_dataset"),
    ".datasets.arrays": ("write_episode",),
    ".envs": ("EnvironmentSpec", "Replay", "replay"),
    ".envs.qwop.keys_file": ("read_keys", "write_keys"),
    ".envs.vector": ("make_vector",),
    ".evaluation.evaluate": ("Evaluation",),
    ".finetune": ("finetune",),
    ".finetune.agents.registry": ("register_algorithm",),
    ".finetune.schedules.phase": ("Phase",),
    ".policies.files": ("load_policy", "save_policy"),
    ".policies.policy": ("Policy",),
    ".policies.rollout": ("Game", "play"),
    ".pretrain": ("pretrain",),
    ".recorder.collector": ("Collector",),
}

__version__ = version("qwop")
__getattr__, _ = lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})


def __dir__() -> list[str]:
    return sorted(__all__)


if "gymnasium" in sys.modules:
    from .envs import registration as registration
