"""Networks of the auxiliary tasks. They read a policy's features and latent, and are not part of its file."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ....envs.spec import ObservationSpec
from ....policies.devices import WEIGHTS, Undisturbed
from ....policies.encoders import MLP, orthogonal_linear
from ....policies.networks import SCALED_LIMIT
from ....policies.q_networks import dueling
from ....policies.two_timescale import TwoTimescaleActorCritic
from . import losses as ftw
from .reward_stores import WINDOW

CELL = 4
"""Height and width of a cell of pixel control, in pixels."""

FEATURES = 32
"""Channels before the last deconvolution of pixel control (UNREAL, Jaderberg et al. 2017)."""

Scale = Callable[[Tensor], Tensor]


class FeatureControl(nn.Module):
    """Dueling Q values for changing each cell of the observation; in a vector, each feature is a cell."""

    def __init__(self, latent: int, width: int, actions: int, cells: int, generator: torch.Generator) -> None:
        super().__init__()
        self.shape = (actions, cells)
        self.layers = MLP(latent, (width,), nn.ReLU, generator)
        self.value = orthogonal_linear(width, cells, 0.01, generator)
        self.advantage = orthogonal_linear(width, actions * cells, 0.01, generator)

    def rewards(self, observations: Tensor, scale: Scale) -> Tensor:
        """Pseudo-rewards [n, k, C] of raw observations in rows, [n, k + 1, size]; scale: the policy's scaler."""
        return ftw.changes(scale(observations).clamp(-SCALED_LIMIT, SCALED_LIMIT))

    def forward(self, latents: Tensor) -> Tensor:
        """Q(s, ·), [..., A, C], of latents [..., latent]."""
        features = self.layers(latents)
        values, advantages = self.value(features), self.advantage(features).unflatten(-1, self.shape)
        return _dueling(values, advantages)


class PixelControl(nn.Module):
    """Feature control for images: cells of 4 × 4 pixels in the middle of the newest frame, through a deconvolution.

    84 × 84 pixels give 20 × 20 cells, as in UNREAL.
    """

    def __init__(self, observation: ObservationSpec, latent: int, actions: int, generator: torch.Generator) -> None:
        super().__init__()
        self._observation, self._actions = observation, actions
        height, width = (observation.shape[axis] for axis in observation.axes[1:])
        # Even, because the last deconvolution doubles the size; part of the margin is left out.
        self.cells = (2 * ((height - CELL) // (2 * CELL)), 2 * ((width - CELL) // (2 * CELL)))
        self._before = (self.cells[0] // 2 - 1, self.cells[1] // 2 - 1)
        self.layers = MLP(latent, (FEATURES * self._before[0] * self._before[1],), nn.ReLU, generator)
        self.deconvolution = nn.ConvTranspose2d(FEATURES, 1 + actions, 4, 2, dtype=WEIGHTS)
        nn.init.orthogonal_(self.deconvolution.weight, 0.1, generator)
        nn.init.zeros_(self.deconvolution.bias)  # type: ignore[arg-type]

    def rewards(self, observations: Tensor, scale: Scale) -> Tensor:
        frame, leading = self._observation.frame, observations.shape[:-1]
        channels, height, width = frame.axes
        newest = observations.reshape(*leading, self._observation.stack, -1)[..., -1, :]
        pictures = (
            scale(newest).reshape(-1, *frame.shape).permute(0, *(1 + axis for axis in (height, width, *channels)))
        )
        colours = pictures.reshape(*leading, *pictures.shape[1:3], frame.channels)
        return ftw.changes_of_cells(colours, CELL, self.cells)

    def forward(self, latents: Tensor) -> Tensor:
        features = self.layers(latents).reshape(-1, FEATURES, *self._before)
        maps = self.deconvolution(features).flatten(2).reshape(*latents.shape[:-1], 1 + self._actions, -1)
        return _dueling(maps[..., 0, :], maps[..., 1:, :])


class RewardPrediction(nn.Module):
    """Logits of a reward's class from the features of the observations before it."""

    def __init__(self, features: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        layers = MLP(WINDOW * features, (width,), nn.ReLU, generator)
        self.layers = nn.Sequential(*layers, orthogonal_linear(width, 3, 0.01, generator))

    def forward(self, features: Tensor) -> Tensor:
        """Logits [m, 3] of features [m, 3, width]."""
        logits: Tensor = self.layers(features.flatten(1))
        return logits


class AuxiliaryNetworks(nn.Module, metaclass=Undisturbed):
    """The networks of both tasks, untrained, for a policy's network."""

    control: FeatureControl | PixelControl

    def __init__(self, network: TwoTimescaleActorCritic, generator: torch.Generator) -> None:
        super().__init__()
        observation, latent, actions = network.observation, network.latent, network.actions
        if observation.is_image:
            self.control = PixelControl(observation, latent, actions, generator)
        else:
            self.control = FeatureControl(latent, network.memory, actions, network.observation_size, generator)
        self.prediction = RewardPrediction(network.trunk.width, network.memory, generator)


def _dueling(values: Tensor, advantages: Tensor) -> Tensor:
    """Q [..., A, C] from values [..., C] and advantages [..., A, C], cell by cell."""
    return dueling(values.unsqueeze(-2), advantages)
