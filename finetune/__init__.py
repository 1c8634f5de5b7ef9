"""Fine-tuning by reinforcement learning, with demonstrations that a schedule mixes in and removes."""

from ..common.lazy import make_callable

make_callable(__name__, "qwop.api:finetune")
