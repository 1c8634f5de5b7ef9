"""Pretraining: cloning a player's recorded decisions into a policy, and measuring the clone."""

from ..common.lazy import make_callable

make_callable(__name__, "qwop.api:pretrain")
