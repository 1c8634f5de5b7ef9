"""Messages of the page to its recorder."""

import json
from typing import Any

import pytest
from qwop.recorder.page.messages import MOST_FRAMES, Begin, Decision, Discard, End, Frames, Line, RefusedGame, parse

GAME = "0123456789ab"
BEGIN = {"type": "begin", "game": GAME, "player": "ada", "tempo": 0.5, "file": None}
FRAMES = {"type": "frames", "game": GAME, "at": 3, "frames": [1, 15]}
PLACE = {"page": 1, "game": 0, "of": None, "step": 0}
ODDS = [1, *[0.0] * 10]
END = {"type": "end", "game": GAME, "frames": 9, "sha256": "0" * 64}


def test_every_message_is_read() -> None:
    assert parse(json.dumps(BEGIN)) == Begin(GAME, "ada", 0.5, None)
    assert parse(json.dumps({**BEGIN, "file": "a.txt"})) == Begin(GAME, "ada", 0.5, "a.txt")
    for tempo in (0.25, 1):  # the slowest pace of the page, and the game's own
        assert parse(json.dumps({**BEGIN, "tempo": tempo})) == Begin(GAME, "ada", float(tempo), None)
    assert parse(json.dumps(FRAMES)) == Frames(GAME, 3, b"\1\x0f")
    assert parse(json.dumps({**BEGIN, "place": {**PLACE, "of": GAME}})) == Begin(
        GAME, "ada", 0.5, None, Line(1, 0, GAME, 0)
    )
    decisions = [[3, 0, 10, 7, ODDS], [4, 1, None, None, ODDS], [5, 0, 0, None, ODDS]]
    found = parse(json.dumps({**FRAMES, "decisions": decisions}))
    assert isinstance(found, Frames)
    assert found.decisions == tuple(Decision(*one[:4], tuple(ODDS)) for one in decisions)  # type: ignore[misc]
    assert parse(json.dumps(END)) == End(GAME, 9, "0" * 64)
    assert parse('{"type": "discard", "name": "x"}') == Discard("x")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({**BEGIN, "game": "../../etc/pas"}, "number"),
        ({**BEGIN, "game": GAME.upper()}, "number"),
        ({**BEGIN, "player": ""}, "player's name is empty"),
        ({**BEGIN, "player": None}, "player's name"),
        ({**BEGIN, "player": "x" * 101}, "player's name has 101 characters, expected from 1 to 100"),
        ({**BEGIN, "tempo": 0}, "pace"),
        ({**BEGIN, "tempo": 2}, "pace"),
        ({**BEGIN, "file": ""}, "file's name"),
        ({**BEGIN, "file": 1}, "file's name"),
        ({**FRAMES, "at": -1}, "message"),
        ({**FRAMES, "at": 300_000}, "message"),
        ({**FRAMES, "frames": [16]}, "message"),
        ({**FRAMES, "frames": [True]}, "message"),
        ({**FRAMES, "frames": [0] * (MOST_FRAMES + 1)}, "message"),
        ({**FRAMES, "decisions": 5}, "message"),
        ({**FRAMES, "decisions": [[3, 0, 11, 7, ODDS]]}, "a decision"),
        ({**FRAMES, "decisions": [[3, 0, None, 7, ODDS]]}, "a decision"),
        ({**FRAMES, "decisions": [[3, 1, 2, 7, ODDS]]}, "a decision"),
        ({**FRAMES, "decisions": [[3, 2, None, None, ODDS]]}, "a decision"),
        ({**FRAMES, "decisions": [[3, 0, 2, -1, ODDS]]}, "a decision"),
        ({**FRAMES, "decisions": [[3, 0, 2, 7, ODDS[1:]]]}, "a decision"),
        ({**FRAMES, "decisions": [[3, 0, 2, 7, ["1", *ODDS[1:]]]]}, "a decision"),
        ({**FRAMES, "decisions": [3]}, "a decision"),
        ({**BEGIN, "place": 5}, "its place"),
        ({**BEGIN, "place": {**PLACE, "of": "x"}}, "its place"),
        ({**BEGIN, "place": {**PLACE, "step": -1}}, "its place"),
        ({**END, "frames": 0}, "message"),
        ({**END, "sha256": "0"}, "message"),
    ],
)
def test_a_game_that_cannot_be_recorded_is_refused_by_its_number(message: Any, reason: str) -> None:
    with pytest.raises(RefusedGame, match=reason) as refused:
        parse(json.dumps(message))
    assert refused.value.game == message["game"]


@pytest.mark.parametrize("message", [{**END, "game": 1}, {"type": "begin"}, {"type": "x"}, [], 1, "\ud83d"])
def test_anything_else_is_not_a_message(message: Any) -> None:
    with pytest.raises(ValueError, match=r"not a message of the page|half a character") as refused:
        parse(json.dumps(message))
    assert not isinstance(refused.value, RefusedGame)
