"""The kernels of the libraries, and their parameters.

A kernel has one argument: a table of 64-bit numbers. An array is its address and its dimensions there, a number itself.
"""

from typing import NamedTuple


class Parameter(NamedTuple):
    """dtype: NumPy's code; dimensions: of an array; 0 for a number."""

    name: str
    dtype: str
    dimensions: int


class Kernel(NamedTuple):
    """forms: the trigonometry and the games side by side of each of its functions; none if it has no lanes. MANY: as
    many as the library has lanes."""

    parameters: tuple[Parameter, ...]
    forms: tuple[tuple[str, int], ...] = ()


MANY = 0

TRIGONOMETRIES = ("current", "fdlibm")
"""A browser's sine and cosine: what Chrome has computed since 2023, and what it did before, as some builds of Chromium
still do."""


def _kernel(parameters: str, *forms: tuple[str, int]) -> Kernel:
    """Read `name:dtype:dimensions …`."""
    split = (one.split(":") for one in parameters.split())
    return Kernel(tuple(Parameter(name, kind[1:], int(kind[0])) for name, kind in split), forms)


_GAMES = "reals:2f8 integers:2i4 "
_SPACE = "memory:1f8 work:2i8 "

KERNELS = {
    # games
    "play_games": _kernel(
        _GAMES + "counters:2i8 numbers:2f8 observations:2f4 final_observations:2f4 orders:2i8 task:1f8 fresh_reals:1f8 "
        "fresh_integers:1i4 " + _SPACE + "first_row:0i8 last_row:0i8 follow:0i8",
        ("current", 1),
        ("current", MANY),
    ),
    "play_keys": _kernel(
        _GAMES + "keys:1u1 begins:1i8 frames:2f8 played:1i8 " + _SPACE,
        ("current", 1),
        ("current", MANY),
        ("fdlibm", 1),
    ),
    "play_frame": _kernel(_GAMES + "keys:1u1 " + _SPACE, ("current", MANY), ("fdlibm", MANY)),
    "load_page": _kernel("reals:1f8 integers:1i4", ("current", 1), ("fdlibm", 1)),
    "reset_page": _kernel("reals:1f8 integers:1i4", ("current", 1), ("fdlibm", 1)),
    # what is seen of them
    "observe_all": _kernel("kind:0f8 states:2f8 jumped:1f8 hidden:2f8 out:2f4"),
    "observe_start": _kernel("kind:0f8 scratch:1f8 out:1f4"),
    "bent_knees": _kernel("states:2f8 out:1f8"),
    "distances": _kernel("reals:2f8 seen:1f8 scratch:1f8 out:1f8"),
    "decision_rewards": _kernel(
        "kind:0f8 shaping:0f8 fall_penalty:0f8 push_penalty:0f8 x:1f8 y:1f8 knee:1f8 hurdle:1f8 finished:0i8 fell:0i8 "
        "out:1f8"
    ),
    "touching": _kernel("integers:2i4 track:1i8 hurdle:1i8"),
    "count_touchdowns": _kernel(
        "playing:1b1 began:1i8 hits:1i8 columns:1i8 other_foot:0i8 hurdle_hit:0i8 foot:1i8 counts:2f8"
    ),
    "draw_games": _kernel(
        "reals:2f8 chosen:1b1 begun:1b1 bones:2f8 scene:2f8 colours:2f8 size:0i8 first:0i8 last:0i8 stacks:3u1"
    ),
    # learning
    "set_leaves": _kernel("nodes:1f8 width:0i8 slots:1i8 values:1f8"),
    "find_leaves": _kernel("nodes:1f8 width:0i8 masses:1f8 found:1i8"),
    "rmsprop": _kernel("theta:1f4 v:1f4 g:1f4 rate:0f8 decay:0f8 rest:0f8 epsilon:0f8"),
    "tanh": _kernel("x:1f4 out:1f4"),
}


def symbol(name: str, trigonometry: str, width: int) -> str:
    """Return the library's name of a kernel's function in so many lanes; of fdlibm's, there are at most four."""
    width = min(width, 4) if trigonometry == "fdlibm" else width
    return f"{name}_{trigonometry}_{width}" if KERNELS[name].forms else name
