"""Games that the page keeps until the recorder has answered about them."""

from typing import Any

from .node import in_node

A, B, C = (f"{number:012x}" for number in (1, 2, 3))


def entry(begun: int, **more: Any) -> dict[str, Any]:
    told = {"dataset": "data", "begun": begun, "page": "closed", "player": "ada", "tempo": 1, "file": None}
    return {**told, "frames": [1, 2], "sha256": None, **more}


def whole(game: str) -> list[list[str]]:
    return [[kind, game] for kind in ("begin", "frames", "end")]


def test_a_game_that_begins_while_others_are_sent_is_neither_ended_nor_forgotten() -> None:
    found = in_node("outboxes.js", "begunMeanwhile")
    assert found["kept"] == [[True, "ada"]]
    assert found["types"] == ["begin", "begin", "frames", "end"]


def test_games_are_sent_one_at_a_time_in_their_order_and_a_refused_one_is_set_apart() -> None:
    kept = {C: entry(3), A: entry(1), B: entry(2)}
    found = in_node("outboxes.js", "answered", kept, [["recorded", A, True], ["refused", B], ["recorded", C, True]])
    assert found["steps"] == [whole(A), whole(B), whole(C), []]
    assert found["names"] == [f"qwop.apart.{B}"]
    assert found["apart"] == [[B, "why"]]


def test_a_game_that_is_not_recorded_yet_stays_and_stops_no_other() -> None:
    found = in_node(
        "outboxes.js", "answered", {A: entry(1), B: entry(2)}, [["recorded", A, False], ["recorded", B, True]]
    )
    assert found["steps"] == [whole(A), whole(B), []]
    assert found["names"] == [f"qwop.unsent.{A}"]


def test_the_games_of_another_dataset_and_what_is_no_game_stay_as_they_are() -> None:
    others = {"x": None, "y": 5, "z": {"frames": "text"}, "w": entry(1, frames=[256]), "v": {"frames": [1]}}
    kept = {**others, A: entry(1, dataset="other"), B: entry(2)}
    found = in_node("outboxes.js", "answered", kept, [["recorded", B, True]])
    assert found["steps"] == [whole(B), []]
    assert found["waiting"] == ["other"]
    assert found["names"] == sorted(f"qwop.unsent.{name}" for name in [*others, A])
