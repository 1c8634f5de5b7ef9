"""Changes of inherited values, and who carries them."""

from collections.abc import Sequence
from typing import Any

from qwop.population.lineage import Change, carried_changes


def history(
    *rounds: tuple[Sequence[tuple[int, int]], Sequence[float]], rates: Sequence[float] = (1e-3, 1e-3, 1e-3)
) -> list[dict[str, Any]]:
    """Rows of three agents: the copies of each round, and their rewards of a fall after it."""
    return [
        {
            "round": number,
            "copies": [[*copy] for copy in copies],
            "agents": [
                {"id": one, "rewards": {"fall": fall}, "genes": {"learning_rate": rate}}
                for one, (fall, rate) in enumerate(zip(falls, rates, strict=True))
            ],
        }
        for number, (copies, falls) in enumerate(rounds, start=1)
    ]


def test_a_change_is_carried_by_all_who_descend_from_the_copy_that_brought_it() -> None:
    rows = history(([], (-1, -1, -1)), ([(1, 0)], (-1, -2, -1)), ([], (-1, -2, -1)), ([(2, 1)], (-1, -2, -2)))
    assert carried_changes(rows) == [Change(2, 1, 0, "rewards", "fall", -1, -2, carriers=2)]


def test_a_change_that_nobody_carries_any_more_is_left_out() -> None:
    rows = history(([], (-1, -1, -1)), ([(1, 0)], (-1, -2, -1)), ([(1, 2)], (-1, -1, -1)))
    assert carried_changes(rows) == []


def test_agents_who_copy_in_the_same_round_copy_one_after_the_other() -> None:
    """Agent 1 copies agent 0 and changes; agent 2 then copies what agent 1 has become."""
    rows = history(([], (-1, -1, -4)), ([(1, 0), (2, 1)], (-1, -2, -2)))
    assert carried_changes(rows) == [Change(2, 1, 0, "rewards", "fall", -1, -2, carriers=2)]
    # … or agent 0 copies agent 2 first, and agent 1 then copies agent 0.
    rows = history(([], (-1, -1, -4)), ([(0, 2), (1, 0)], (-4, -5, -4)))
    assert carried_changes(rows) == [Change(2, 1, 0, "rewards", "fall", -4, -5, carriers=1)]


def test_the_most_common_changes_come_first_and_then_the_earliest() -> None:
    rows = history(
        ([], (-1, -1, -1)), ([(1, 0)], (-1, -2, -1)), ([(2, 1)], (-1, -2, -3)), ([(0, 2)], (-6, -2, -3))
    )  # fmt: skip
    assert [(change.round, change.carriers) for change in carried_changes(rows)] == [(2, 3), (3, 2), (4, 1)]


def test_hyper_parameters_count_too() -> None:
    rows = history(([], (-1, -1, -1))) + history(([(1, 0)], (-1, -1, -1)), rates=(1e-3, 2e-3, 1e-3))
    assert [(change.kind, change.name, change.after) for change in carried_changes(rows)] == [
        ("genes", "learning_rate", 2e-3)
    ]
