"""Cloning by d3rlpy's DiscreteBC, whose weights are copied into a network of this package."""

import logging
import math
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import torch

from ..common.errors import BadInput
from ..datasets.exchange.d3rlpy import INSTALL
from ..policies.networks import TrunkedPolicy
from .rows import NONE, Rows
from .settings import CloningSettings


def d3rlpy_epochs(network: TrunkedPolicy, rows: Rows, settings: CloningSettings, seed: int) -> Iterator[float]:
    """Fit DiscreteBC to `rows`; each pass yields the mean loss, its weights copied into `network`.

    It learns the actions, also where rows have probabilities. beta is 0: DiscreteBC's penalty on logits would cap a
    certain action's probability (0.31 at its default of 0.5).
    Dropout, weight decay (here of biases too) and the half cosine of the rate are those of `settings`.
    """
    require_d3rlpy(settings)
    if network.observation.is_image:
        raise BadInput(
            "backend=d3rlpy: it clones numbers only, and these episodes are of pictures; backend=torch takes them"
        )
    if rows.weights is not None and np.ptp(rows.weights):
        raise BadInput(
            "policy_weight, person_weight: DiscreteBC weighs all decisions alike; expected the same for both, 0 for "
            "one of them, or backend=torch"
        )
    import d3rlpy
    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))  # or a line per pass
    settings = settings.completed(soft=False)
    d3rlpy.seed(seed)
    updates = math.ceil(len(rows) / settings.batch_size)
    device = network.policy_head.weight.device
    with torch.no_grad():
        scaled = network.scaler(torch.from_numpy(rows.observations).to(device)).cpu().numpy()
    ends = np.append(rows.previous[1:] == NONE, True)
    data = d3rlpy.dataset.MDPDataset(
        observations=scaled,
        actions=rows.actions,
        rewards=np.zeros(len(rows), dtype=np.float32),
        terminals=ends.astype(np.float32),
        action_space=d3rlpy.constants.ActionSpace.DISCRETE,
        action_size=network.actions,
    )
    cloner = d3rlpy.algos.DiscreteBCConfig(
        beta=0.0,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        optim_factory=d3rlpy.optimizers.AdamWFactory(
            weight_decay=settings.weight_decay,
            lr_scheduler_factory=d3rlpy.optimizers.CosineAnnealingLRFactory(T_max=settings.epochs * updates),
        ),
        encoder_factory=d3rlpy.models.VectorEncoderFactory(
            hidden_units=list(network.hidden), dropout_rate=settings.dropout or None
        ),
    ).create(device=str(device) if device.type == "cuda" else False)
    passes = cloner.fitter(
        data,
        n_steps=settings.epochs * updates,
        n_steps_per_epoch=updates,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    )
    for _, metrics in passes:
        _copy_weights(cloner.impl.modules.imitator, network)
        yield float(metrics["loss"])


def _copy_weights(imitator: torch.nn.Module, network: TrunkedPolicy) -> None:
    """Copy the encoder into the trunk and the output layer into the policy head; the Q head stays as it is."""
    theirs = [module for module in imitator.modules() if isinstance(module, torch.nn.Linear)]
    ours = [*(module for module in network.trunk if isinstance(module, torch.nn.Linear)), network.policy_head]
    for source, target in zip(theirs, ours, strict=True):
        target.load_state_dict(source.state_dict())


def require_d3rlpy(settings: CloningSettings) -> None:
    """Raise BadInput unless d3rlpy is installed and DiscreteBC supports the settings."""
    if find_spec("d3rlpy") is None:
        raise BadInput(f"backend=d3rlpy: d3rlpy is not installed; {INSTALL}")
    for name in ("label_smoothing", "input_noise"):
        if getattr(settings, name):
            raise BadInput(
                f"{name}={getattr(settings, name):g}: DiscreteBC has no such setting; expected 0, or backend=torch"
            )
