"""PyTorch's threads, for networks as small as those of policies."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import torch

from ..common.cores import cores

T = TypeVar("T")

AHEAD = 8
"""Items that are made before they are asked for."""


def use_one_thread() -> None:
    """Compute on one thread from now on: with layers this narrow, threads spend more time waiting than working."""
    torch.set_num_threads(1)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items in order, while a second thread makes those that follow; on one core as they are.

    The thread computes with as many threads of PyTorch's as the caller. An error of `items` is raised where its item
    would have come. Closing the iterator ends the thread.
    """
    if cores() == 1:
        yield from items
        return
    threads = (torch.get_num_threads(),)  # a new thread would take all cores
    with ThreadPoolExecutor(1, "ahead", initializer=torch.set_num_threads, initargs=threads) as pool:
        waiting: deque[Future[list[T]]] = deque(pool.submit(_next, items) for _ in range(AHEAD))
        while item := waiting.popleft().result():
            waiting.append(pool.submit(_next, items))
            yield item[0]


def _next(items: Iterator[T]) -> list[T]:
    """The next item in a list; an empty one at the end."""
    return list(islice(items, 1))
