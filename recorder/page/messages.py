"""Messages between a page and its server: JSON, and an environment's pictures after a header."""

import json
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ...common.reading import parse_json
from ...common.shared_settings import LARGEST_SEED
from ...envs.names import ACTION_KEYS, LONGEST_KEYS
from ..settings import LONGEST_NAME

MOST_KEYS = 16
"""Keys that an environment may use; a set of them travels as the bits of one number."""

POLICY_ACTS, NOBODY = -1, -2
"""Frames of a coached game of an environment in which the person holds no keys."""

MAX_FRAMES = 60
"""Frames whose keys one message may hold. The page sends a few at a time; this is two seconds' worth."""

MOST_FRAMES = 20_000
"""Frames in one message of a game that is played in the browser; longer games are sent in parts."""

SLOWEST = 0.25
"""Least pace at which the page lets a person play."""

Digits = Annotated[str, Field(pattern="^[0-9a-f]{12}$")]
"""Name of a game that is played in the browser."""
Number = Annotated[int, Field(ge=0, le=2**24)]
"""Number of a game of an environment on its page; float32 counts up to here."""
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Place = Annotated[int, Field(ge=0, lt=LONGEST_KEYS)]
Probability = Annotated[float, Field(allow_inf_nan=False)]


class Message(BaseModel):
    """Any message of a page."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Turn(Message):
    """A new game of the environment starts here, numbered by the page, and the one before it is left; or the person
    goes back in a coached game, which the page numbers anew."""

    type: Literal["start", "back"]
    game: Number


class Keys(Message):
    """The keys that the person holds in each of the next frames of a game, each key a bit; `POLICY_ACTS` where the
    policy has control, `NOBODY` where the game waits."""

    type: Literal["keys"]
    game: Number
    keys: Annotated[tuple[Annotated[int, Field(ge=-2, lt=2**MOST_KEYS)], ...], Field(max_length=MAX_FRAMES)]


class Line(Message):
    """The place of a coached game among those of its page. page, game: numbers of the page and of its game there, which
    decide the draws. of: the game that it left by going back, None for a whole one. step: decisions that both share."""

    page: Seed
    game: Seed
    of: Digits | None
    step: Place


class Decision(NamedTuple):
    """A decision of a coached game: its first frame and who acted. action, number: the policy's action and the number
    of its draw; None for a person's, and no draw for a greedy policy's. probabilities: the policy's, as the page has
    computed them."""

    frame: Place
    actor: Literal[0, 1]
    action: Annotated[int, Field(ge=0, lt=len(ACTION_KEYS))] | None
    number: Annotated[int, Field(ge=0, lt=LONGEST_KEYS + 2)] | None
    probabilities: Annotated[tuple[Probability, ...], Field(min_length=len(ACTION_KEYS), max_length=len(ACTION_KEYS))]


class Frames(Message):
    """Frames of a game that the browser plays, from number `at` on: the keys of each, 0 to 15, and the decisions that
    begin in them. place: of a coached game among the lines. sha256: of all states, as the browser played them; None
    until these frames are the last ones."""

    type: Literal["frames"]
    game: Digits
    player: Name
    tempo: Annotated[float, Field(ge=SLOWEST, le=1)]
    place: Line | None = None
    at: Place
    frames: Annotated[tuple[Annotated[int, Field(ge=0, lt=16)], ...], Field(max_length=MOST_FRAMES)]
    decisions: tuple[Decision, ...] = ()
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class Discard(Message):
    """A recorded game is to be taken out of the dataset."""

    type: Literal["discard"]
    name: str


class RefusedGame(ValueError):
    """A game of the browser that cannot be recorded. game: as its message names it."""

    def __init__(self, game: str, reason: str) -> None:
        super().__init__(reason)
        self.game = game


_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Turn | Keys | Frames | Discard, Field(discriminator="type")])


def parse(message: str | bytes) -> Message:
    """Read a message of a page.

    RefusedGame for one that is of no use but names a game of the browser; ValueError for others.
    """
    if isinstance(message, bytes):
        raise ValueError("not a message of the page")
    try:
        return _MESSAGES.validate_json(message)
    except ValidationError as error:
        wrong = error.errors()[0]
    match parse_json(message):
        case {"type": "frames", "game": str(game)}:
            place = ".".join(str(part) for part in wrong["loc"][1:])
            raise RefusedGame(game, f"{place}: {wrong['msg'][:1].lower()}{wrong['msg'][1:]}")
    raise ValueError("not a message of the page")


def picture(game: int, last: int, total: float, image: bytes) -> bytes:
    """Encode a picture of a game: its number, the index of the last frame and the return, all float32, then the file.

    image: empty if the frame has not changed.
    """
    return np.array([game, last, total], dtype="<f4").tobytes() + image


def encode(**answer: Any) -> str:
    """Encode any other answer."""
    return json.dumps(answer, allow_nan=False)
