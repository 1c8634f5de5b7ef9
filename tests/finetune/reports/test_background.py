"""Tasks in a second thread, in order, with their errors and a policy of their own."""

import threading
import time

import numpy as np
import pytest
import torch
from qwop.common.cores import cores
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.reports.background import Background
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy


@pytest.fixture
def policy() -> Policy:
    network = ActorCritic(4, 2, (8,), torch.Generator().manual_seed(0))
    return Policy(network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))


def test_tasks_are_carried_out_in_order_while_the_caller_goes_on() -> None:
    background, may_begin, done = Background(inline=False), threading.Event(), list[tuple[int, str]]()
    background.run(may_begin.wait)  # type: ignore[arg-type]
    for number in range(3):
        background.run(lambda number=number: done.append((number, threading.current_thread().name)))  # type: ignore[misc]
    background.check()
    assert done == []
    may_begin.set()
    background.wait()
    assert [number for number, _ in done] == [0, 1, 2]
    assert threading.current_thread().name not in dict(done).values()
    background.close()


def test_tasks_in_the_background_take_one_core() -> None:
    background, found = Background(inline=False), list[tuple[int, int]]()
    background.run(lambda: found.append((cores(), torch.get_num_threads())))
    background.wait()
    background.close()
    assert found == [(1, torch.get_num_threads())]


def test_inline_tasks_are_carried_out_at_once_and_take_the_policy_itself(policy: Policy) -> None:
    background, done = Background(inline=True), list[threading.Thread]()
    background.run(lambda: done.append(threading.current_thread()))
    assert done == [threading.current_thread()]
    assert background.snapshot(policy) is policy
    with pytest.raises(ZeroDivisionError):
        background.run(lambda: divmod(1, 0))  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["check", "wait"])
def test_an_error_is_raised_in_the_caller_and_the_tasks_after_it_are_left_out(asked: str) -> None:
    background, done = Background(inline=False), list[int]()
    background.run(lambda: divmod(1, 0))  # type: ignore[arg-type]
    background.run(lambda: done.append(1))
    with pytest.raises(ZeroDivisionError):
        until_raised(getattr(background, asked))
    background.close()
    assert done == []


def until_raised(ask: object) -> None:
    for _ in range(300):
        ask()  # type: ignore[operator]
        time.sleep(0.01)


def test_a_snapshot_keeps_its_weights_while_the_policy_learns(policy: Policy) -> None:
    background = Background(inline=False)
    snapshot, seen = background.snapshot(policy), np.ones((3, 4), dtype=np.float32)
    before = policy.probabilities(seen)
    with torch.no_grad():
        policy.network.policy_head.bias[0] += 1.0
    assert (snapshot.environment, snapshot.observation) == (policy.environment, policy.observation)
    assert snapshot.probabilities(seen).tobytes() == before.tobytes()
    assert policy.probabilities(seen).tobytes() != before.tobytes()
    background.close()


def test_closing_ends_an_evaluation_at_its_next_decision(policy: Policy) -> None:
    background, begun, over = Background(inline=False), threading.Event(), list[int]()
    snapshot, seen = background.snapshot(policy), np.ones((3, 4), dtype=np.float32)

    def play_for_ever() -> None:
        while True:
            snapshot.step(seen, ())
            begun.set()

    background.run(play_for_ever)
    background.run(lambda: over.append(1))
    begun.wait()
    background.close()  # returns only once the thread has ended
    assert over == []
