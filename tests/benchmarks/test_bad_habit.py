"""Policies stuck in a bad habit: the habits, and the runs that leave them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from .scripts import load_script

script = load_script("bad_habit")


@pytest.mark.parametrize("name", list(script.HABITS))
@pytest.mark.parametrize("way", [script.WITH, script.ALONE])
def test_demonstrations_are_in_the_memory_at_first_and_then_removed(name: str, way: str) -> None:
    words = script.words_of(name, way, 3, Path("habit"), Path("games"), Path("out"))
    read = script.finetune.read(words)
    phases = {phase.name: phase for phase in read.schedule.phases}
    assert list(phases) == ["mixed", "values", "alone"]
    assert phases["mixed"].uses_demonstrations == phases["mixed"].imitates == (way == script.WITH)
    assert not any(phases[later].uses_demonstrations or phases[later].imitates for later in ("values", "alone"))


def test_who_hovers_fires_while_sinking_and_else_keeps_upright() -> None:
    def seen(falling: float, lean: float) -> NDArray[np.float64]:
        return np.array([0.0, 1.0, 0.0, falling, lean, 0.0, 0.0, 0.0])

    assert script.hover(None, seen(-0.1, 0.3)) == 2
    assert script.hover(None, seen(0.1, 0.3)) == 3
    assert script.hover(None, seen(0.1, -0.3)) == 1
    assert script.hover(None, seen(0.1, 0.0)) == 0


def test_a_policy_is_ahead_where_it_ends_better_than_alone(tmp_path: Path) -> None:
    results = script.Results(tmp_path)
    for way, ends in ((script.WITH, (-80.0, -90.0)), (script.ALONE, (-85.0, -500.0))):
        for seed, end in enumerate(ends):
            row = {"habit": "acrobot", "seed": seed, "way": way}
            results.add(row | {"before": -500.0, "mixed": -100.0, "end": end, "seconds": 1.0})
    row = next(line for line in script.table(results).splitlines() if script.WITH in line and "Acrobot" in line)
    assert "-85.0 ± 63.5 (-80, -90)" in row
    assert "| 2 of 2 |" in row
