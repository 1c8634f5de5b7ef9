"""Messages of the page to its recorder."""

import json
import re
from typing import Any

import pytest
from qwop.recorder.page.messages import MOST_FRAMES, RefusedGame, parse

GAME = "0123456789ab"
FRAMES = {"type": "frames", "game": GAME, "player": "ada", "tempo": 0.5, "at": 3, "frames": [1, 15]}
PLACE = {"page": 1, "game": 0, "of": None, "step": 0}
ODDS = [1, *[0.0] * 10]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({**FRAMES, "game": "../../etc/pas"}, "game"),
        ({**FRAMES, "player": ""}, "player: string should have at least 1 character"),
        ({**FRAMES, "more": 1}, "more"),
        ({**FRAMES, "place": {**PLACE, "of": "x"}}, "place.of"),
        ({**FRAMES, "at": 300_000}, "at"),
        ({**FRAMES, "frames": [16]}, "frames.0"),
        ({**FRAMES, "frames": [0] * (MOST_FRAMES + 1)}, "frames"),
        ({**FRAMES, "decisions": [[3, 0, 11, 7, ODDS]]}, "decisions.0.2"),
        ({**FRAMES, "decisions": [[3, 0, 2, -1, ODDS]]}, "decisions.0.3"),
        ({**FRAMES, "decisions": [[3, 0, 2, 7, ODDS[1:]]]}, "decisions.0.4"),
        ({**FRAMES, "sha256": "0"}, "sha256"),
    ],
)
def test_a_game_that_cannot_be_recorded_is_refused_by_its_number(message: Any, reason: str) -> None:
    with pytest.raises(RefusedGame, match=f"^{re.escape(reason)}") as refused:
        parse(json.dumps(message))
    assert refused.value.game == message["game"]


@pytest.mark.parametrize(
    "message",
    [
        {**FRAMES, "game": 1}, {"type": "frames"}, {"type": "x"}, {"type": ["start"]}, {}, [], "start", "\ud83d",
        {"type": "start", "game": True}, {"type": "start", "game": -1}, {"type": "start", "game": 10**30},
        {"type": "start", "game": 1, "more": 1}, {"type": "keys", "game": 1, "keys": [2**16]},
        {"type": "keys", "game": 1, "keys": [-3]}, {"type": "keys", "game": 1, "keys": [0] * 61}, {"type": "discard"},
    ],
)  # fmt: skip
def test_anything_else_is_not_a_message(message: Any) -> None:
    with pytest.raises(ValueError, match=r"not a message of the page|half a character") as refused:
        parse(json.dumps(message))
    assert not isinstance(refused.value, RefusedGame)
