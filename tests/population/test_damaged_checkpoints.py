"""Checkpoints whose values are of other kinds are refused in a line, or read; they never end in a traceback."""

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.finetune.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from qwop.population.history import HISTORY, read_history

from .conftest import Command

OTHERS: list[Any] = [
    None, True, -1, 1.5, 2**63, "x", [], {}, [1.0, 2.0], {"a": 1}, np.zeros(3), torch.zeros(0),
    np.zeros((2, 2), np.int64),
]  # fmt: skip


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of all values of a state, also the nested ones."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*before, key)
        if isinstance(one, dict | list):
            yield from places(one, (*before, key))


SETTINGS = (
    "agents=2", "agent=vtrace", "agent.hidden=[8]", "agent.memory=8", "work.num_games=2", "work.steps=4",
    "work.unrolls=1", "work.opponents=1", "race.time_limit=1", "evaluation.games=0", "video=false", "report_every=1000",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_checkpoint_with_values_of_other_kinds_is_read_or_refused_in_a_line(
    seed: int, population: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    code, _, wrong = population(*SETTINGS, "rounds=1", f"out={run}")
    assert code == 0, wrong
    newest = checkpoints(run / "checkpoints")[-1]
    whole, state = newest.read_bytes(), load_checkpoint(newest)
    found = [*places(state)]
    draw = random.Random(seed)
    refused = 0
    for place in draw.sample(found, 10):
        changed = copy.deepcopy(state)
        inside = changed
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = other = draw.choice(OTHERS)
        save_checkpoint(newest.parent, changed_decisions(newest), changed)
        code, _, wrong = population(*SETTINGS, "rounds=2", f"out={run}", "resume=true")
        lines = [line for line in wrong.splitlines() if line.strip()]
        assert code in (0, 2), (place, other, wrong)
        if code == 2:
            refused += 1
            assert len(lines) == 1, (place, other, wrong)
            assert newest.name in lines[0], (place, other, wrong)
        for path in checkpoints(run / "checkpoints"):
            path.unlink()
        newest.write_bytes(whole)
    assert refused


def changed_decisions(path: Path) -> int:
    """The decisions that a checkpoint's name gives."""
    return int(path.stem.rpartition("-")[2])


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"rating": ', '"rating": "x", "was": '),
        ('"agents": [', '"agents": [1, '),
        ('"copies": []', '"copies": [[7, 0]]'),
        ('"genes": {', '"genes": {"other": 1.0, '),
        ('"seconds": ', '"seconds": null, "was": '),
        ('"round": 2', '"round": 1'),
    ],
)
def test_a_history_of_other_values_is_refused(found: str, instead: str, tmp_path: Path) -> None:
    row = (
        '{"round": 1, "decisions": 8, "seconds": 1.0, "time": {"playing": 0.5}, "agents": [{"id": 0, "rating": 1000.0, '
        '"error": 1.0, "generation": 0, "founder": 0, "genes": {"a": 1.0}, "rewards": {}, "figures": {}}], '
        '"rivals": [], "copies": []}\n'
    )
    path = tmp_path / HISTORY
    later = row.replace('"round": 1', '"round": 2')
    path.write_text(row + later)
    assert len(read_history(tmp_path)) == 2
    assert found in later
    path.write_text(row + later.replace(found, instead, 1))
    with pytest.raises(BadInput, match=HISTORY):
        read_history(tmp_path)
