"""Control in each frame of a game that a policy and a person play, as the page decides it."""

from typing import Any

import pytest
from qwop.datasets.control import PERSON, POLICY

from .test_coached import in_node

HAND_OVER, WAIT = "handOver", "wait"

CASES: dict[str, tuple[int, list[Any], list[int | None]]] = {
    "a pressed key takes over at once, and letting go gives back":
        (2, [0, 4, 0, 0, 0, 0], [POLICY, PERSON, PERSON, PERSON, POLICY, POLICY]),
    "a key in between keeps control":
        (2, [1, 0, 0, 2, 0, 0, 0], [PERSON] * 6 + [POLICY]),
    "control that was taken without a key waits for the first":
        (1, [(HAND_OVER, 0), 0, 0, 0, 1, 0, 0], [PERSON] * 5 + [POLICY]),
    "the policy keeps control from keys that are still held":
        (1, [5, (HAND_OVER, 5), 5, 1, 0, 1], [PERSON, POLICY, POLICY, POLICY, PERSON]),
    "another key takes over while the first is held":
        (1, [1, (HAND_OVER, 1), 1, 3], [PERSON, POLICY, PERSON]),
    "after going back the game waits for a key":
        (5, [(WAIT, 0), 0, 0, 8], [None, None, PERSON]),
    "as the runner falls, one has keys down":
        (5, [(WAIT, 4), 4, 4, 12, (WAIT, 4), 4, 0, 4], [None, None, PERSON, None, None, PERSON]),
    "a game that waits is handed over":
        (5, [(WAIT, 0), 0, (HAND_OVER, 0), 0], [None, PERSON]),
}  # fmt: skip
"""Frames without a key after which the policy has control again; what happens, a number being the keys held in a frame;
who acts in these frames."""


@pytest.mark.parametrize(("release", "moves", "actors"), CASES.values(), ids=CASES)
def test_who_acts_in_each_frame(release: int, moves: list[Any], actors: list[int | None]) -> None:
    assert in_node("controlled", release, moves) == actors
