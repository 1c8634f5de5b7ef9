"""PyTorch's threads, for networks as small as those of policies."""

import torch


def use_one_thread() -> None:
    """Compute on one thread from now on: with layers this narrow, threads spend more time waiting than working."""
    torch.set_num_threads(1)
