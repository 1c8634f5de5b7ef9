"""Games that the page keeps until the recorder has answered about them."""

from typing import Any

from .node import in_node

A, B, C = (f"{number:012x}" for number in (1, 2, 3))


def entry(begun: int, **more: Any) -> dict[str, Any]:
    facts = {"dataset": "data", "begun": begun, "page": "closed", "player": "ada", "tempo": 1}
    return {**facts, "frames": [1, 2], "sha256": None, **more}


def test_a_game_that_begins_while_others_are_sent_is_neither_ended_nor_forgotten() -> None:
    found = in_node("outboxes.js", "begunMeanwhile")
    assert found["noted"] == [[True, "ada"]]
    assert found["sent"] == [[0, 2, True]]


def test_games_are_sent_in_their_order_and_a_refused_one_stays() -> None:
    kept = {C: entry(3), A: entry(1), B: entry(2)}
    found = in_node("outboxes.js", "answered", kept, [["recorded", A], ["refused", B], ["recorded", C]])
    assert found["sent"] == [[A, 0, 2, True], [B, 0, 2, True], [C, 0, 2, True]]
    assert found["reasons"] == [[B, "why"]]
    again = in_node("outboxes.js", "answered", {B: entry(2, reason="why"), C: entry(3)}, [])
    assert again["sent"] == [[C, 0, 2, True]]


def test_a_long_game_is_sent_in_parts_of_which_the_last_ends_it() -> None:
    frames = in_node("outboxes.js", "answered", {A: entry(1, frames=[1] * 25_000)}, [])["sent"]
    assert frames == [[A, 0, 10_000, False], [A, 10_000, 10_000, False], [A, 20_000, 5_000, True]]


def test_the_games_of_another_dataset_and_what_is_no_game_stay_as_they_are() -> None:
    others = {"x": None, "y": 5, "z": {"frames": "text"}, "w": entry(1, frames=[256]), "v": {"frames": [1]}}
    kept = {**others, A: entry(1, dataset="other"), B: entry(2)}
    found = in_node("outboxes.js", "answered", kept, [["recorded", B]])
    assert found["sent"] == [[B, 0, 2, True]]
    assert found["waiting"] == ["other"]
    assert found["names"] == sorted(f"qwop.unsent.{name}" for name in [*others, A])
