"""Frames of many games at once, each with keys of its own, and their distance from what was seen."""

from . import layout as at
from .compiled import compiled
from .features import FEATURES, observe
from .game import advance
from .island import PLAYING, PLAYING_COUNT, PRESSED


@compiled
def play_frame(lanes, reals, integers, keys, memory, work):
    """Advance every game that has not ended by a frame: reals float64 [n, REALS], integers int32 [n, INTEGERS].

    keys: uint8 [n], those down in each game's frame; memory, work: a `world.workspace` of the width of `lanes`.
    """
    row = 0
    while row < len(keys):
        count = 0
        while row < len(keys) and count < len(lanes):
            if reals[row, at.ENDED] == 0.0:
                work[count, PLAYING], work[count, PRESSED] = row, keys[row]
                count += 1
            row += 1
        work[0, PLAYING_COUNT] = count
        if count > 0:
            advance(lanes, reals, integers, memory, work)


@compiled
def distances(reals, seen, scratch, out):
    """Largest difference between the 71 features of each game and `seen`: float64 [n, REALS], [71] into out [n].

    In double precision, as the published recordings are; scratch: float64 [71].
    """
    for row in range(len(reals)):
        observe(reals[row], scratch)
        largest = 0.0
        for column in range(FEATURES):
            largest = max(largest, abs(scratch[column] - seen[column]))
        out[row] = largest
