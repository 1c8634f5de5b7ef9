"""The losses of the For The Win agent (Jaderberg et al. 2019) in addition to those of V-trace, as formulas.

z is the latent, Q its posterior and P its prior. The auxiliary tasks are those of UNREAL (Jaderberg et al. 2017).
"""

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, cross_entropy

from ....policies.recurrent import PRIOR_STD, Gaussian

ZERO, POSITIVE, NEGATIVE = range(3)
"""Classes of a reward."""


def kl_divergence(one: Gaussian, other: Gaussian) -> Tensor:
    """KL(N(μ, σ²)‖N(m, s²)) = Σ [ln(s/σ) + (σ² + (μ − m)²)/(2s²) − ½], nats: [...], of diagonal Gaussians [..., d]."""
    (mu, sigma), (m, s) = one, other
    return ((s / sigma).log() + (sigma.square() + (mu - m).square()) / (2 * s.square()) - 0.5).sum(-1)


def posterior_loss(posterior: Gaussian, prior: Gaussian) -> Tensor:
    """mean_t KL(Q_t‖P_t), of Gaussians [n, k, d], with gradients to both."""
    return kl_divergence(posterior, prior).mean()


def prior_loss(prior: Gaussian, ticked: Tensor) -> Tensor:
    """mean_t [the slow core ticked]·KL(P_t‖N(0, 0.1²)), of Gaussians [n, k, d] and ticked, bool [n, k].

    Between ticks P_t does not change, so its divergence is counted only once.
    """
    widest = Gaussian(torch.zeros_like(prior.mean), torch.full_like(prior.std, PRIOR_STD))
    return (kl_divergence(prior, widest) * ticked).mean()


def changes(scaled: Tensor) -> Tensor:
    """Pseudo-rewards of feature control: |x_{t+1} − x_t| of each feature, [n, k, C], of observations [n, k + 1, C].

    All features of a scaled observation have a similar spread, so their changes need no further scaling.
    """
    return (scaled[:, 1:] - scaled[:, :-1]).abs()


def changes_of_cells(pictures: Tensor, cell: int, across: tuple[int, int]) -> Tensor:
    """Mean |Δ pixel| in each cell of `cell` × `cell` pixels: the pseudo-rewards [n, k, rows·columns] of pixel control.

    pictures: [n, k + 1, height, width, colours], 0 to 1. across: rows and columns of cells, in the middle of a picture.
    """
    height, width = pictures.shape[2:4]
    rows, columns = across
    top, left = (height - rows * cell) // 2, (width - columns * cell) // 2
    middle = pictures[:, :, top : top + rows * cell, left : left + columns * cell]
    moved = (middle[:, 1:] - middle[:, :-1]).abs().mean(-1)
    return avg_pool2d(moved.flatten(0, 1).unsqueeze(1), cell).reshape(*moved.shape[:2], rows * columns)


@torch.no_grad()
def control_targets(rewards: Tensor, over: Tensor, greedy: Tensor, gamma: float) -> Tensor:
    """n-step targets of Q-learning on pseudo-rewards, [n, k, C].

        R_t = r_t + γ·R_{t+1},   R_{t+1} = max_a Q(s_{t+1}, a) where t + 1 is the end of the unroll or of the episode

    rewards: [n, k, C]. over: bool [n, k], the step ended the episode. Its effect was not observed, so its own target is
    meaningless, and the previous step bootstraps from its state. greedy: max_a Q(s, a), [n, k + 1, C].
    """
    targets = torch.empty_like(rewards)
    following = greedy[:, -1]
    for t in reversed(range(rewards.shape[1])):
        targets[:, t] = rewards[:, t] + gamma * following
        following = torch.where(over[:, t, None], greedy[:, t], targets[:, t])
    return targets


def control_loss(q: Tensor, actions: Tensor, targets: Tensor, over: Tensor) -> Tensor:
    """mean ½(R_t − Q(s_t, a_t))² over the cells and the steps that did not end an episode.

    q: [n, k, A, C]. actions: int64 [n, k]. targets: [n, k, C]. over: bool [n, k].
    """
    q_taken = q.gather(2, actions[:, :, None, None].expand(*actions.shape, 1, q.shape[-1])).squeeze(2)
    errors = 0.5 * (targets - q_taken).square().mean(-1)
    mask = (~over).to(errors.dtype)
    return (errors * mask).sum() / mask.sum().clamp(min=1.0)


def reward_classes(rewards: Tensor) -> Tensor:
    """ZERO, POSITIVE or NEGATIVE, int64 [...], of rewards [...]."""
    return torch.where(rewards > 0, POSITIVE, torch.where(rewards < 0, NEGATIVE, ZERO))


def reward_prediction_loss(logits: Tensor, classes: Tensor) -> Tensor:
    """mean −log p(class), of logits [m, 3] and classes int64 [m]."""
    return cross_entropy(logits, classes)
