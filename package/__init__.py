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
    from .common.errors import BadInput
    from .compare.main import Comparison, compare
    from .datasets import Dataset, DatasetInfo, DatasetWriter, Episode, embedded_dataset, open_dataset
    from .datasets.arrays import write_episode
    from .envs import EnvironmentSpec, Replay, replay
    from .envs.qwop.keys_file import read_keys, write_keys
    from .envs.vector import make_vector
    from .evaluation.evaluate import Evaluation, evaluate
    from .evaluation.settings import EvaluationSettings
    from .policies.files import load_policy, save_policy
    from .policies.policy import Policy
    from .policies.rollout import Game, play

__all__ = [
    "BadInput",
    "Comparison",
    "Dataset",
    "DatasetInfo",
    "DatasetWriter",
    "EnvironmentSpec",
    "Episode",
    "Evaluation",
    "EvaluationSettings",
    "Game",
    "Policy",
    "Replay",
    "__version__",
    "compare",
    "embedded_dataset",
    "evaluate",
    "load_policy",
    "make_vector",
    "open_dataset",
    "play",
    "read_keys",
    "replay",
    "save_policy",
    "write_episode",
    "write_keys",
]

_MODULES = {
    ".common.errors": ("BadInput",),
    ".compare.main": ("Comparison", "compare"),
    ".datasets": ("Dataset", "DatasetInfo", "DatasetWriter", "Episode", "embedded_dataset", "open_dataset"),
    ".datasets.arrays": ("write_episode",),
    ".envs": ("EnvironmentSpec", "Replay", "replay"),
    ".envs.qwop.keys_file": ("read_keys", "write_keys"),
    ".envs.vector": ("make_vector",),
    ".evaluation.evaluate": ("Evaluation", "evaluate"),
    ".evaluation.settings": ("EvaluationSettings",),
    ".policies.files": ("load_policy", "save_policy"),
    ".policies.policy": ("Policy",),
    ".policies.rollout": ("Game", "play"),
}

__version__ = version("qwop")
__getattr__, __dir__ = lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})

if "gymnasium" in sys.modules:
    from .envs import registration as registration
