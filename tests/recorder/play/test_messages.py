"""Messages of the page to its recorder."""

import json
from typing import Any

import pytest
from qwop.recorder.page.messages import Discard
from qwop.recorder.play.messages import MOST_FRAMES, Begin, End, Frames, parse

GAME = "0123456789ab"
BEGIN = {"type": "begin", "game": GAME, "player": "ada", "tempo": 0.5, "file": None}
FRAMES = {"type": "frames", "game": GAME, "at": 3, "frames": [1, 255]}
END = {"type": "end", "game": GAME, "frames": 9, "sha256": "0" * 64}


def test_every_message_is_read() -> None:
    assert parse(json.dumps(BEGIN)) == Begin(GAME, "ada", 0.5, None)
    assert parse(json.dumps({**BEGIN, "file": "a.txt"})) == Begin(GAME, "ada", 0.5, "a.txt")
    for tempo in (0.25, 1):  # the slowest pace of the page, and the game's own
        assert parse(json.dumps({**BEGIN, "tempo": tempo})) == Begin(GAME, "ada", float(tempo), None)
    assert parse(json.dumps(FRAMES)) == Frames(GAME, 3, b"\1\xff")
    assert parse(json.dumps(END)) == End(GAME, 9, "0" * 64)
    assert parse('{"type": "discard", "name": "x"}') == Discard("x")


@pytest.mark.parametrize(
    "message",
    [
        {**BEGIN, "game": "../../etc/pas"}, {**BEGIN, "game": GAME.upper()}, {**BEGIN, "player": ""},
        {**BEGIN, "player": "x" * 101}, {**BEGIN, "tempo": 0}, {**BEGIN, "tempo": 2}, {**BEGIN, "file": ""},
        {**BEGIN, "file": 1}, {**FRAMES, "at": -1}, {**FRAMES, "at": 300_000}, {**FRAMES, "frames": [256]},
        {**FRAMES, "frames": [True]}, {**FRAMES, "frames": [0] * (MOST_FRAMES + 1)}, {**END, "frames": 0},
        {**END, "sha256": "0"}, {"type": "x"}, [], 1,
    ],
)  # fmt: skip
def test_anything_else_is_refused(message: Any) -> None:
    with pytest.raises(ValueError, match="not a message of the page"):
        parse(json.dumps(message))


@pytest.mark.parametrize("message", [b"{}", "{", "[" * 100_000])
def test_what_is_not_json_is_refused(message: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(message)
