"""Frames of games from their keys: whole games with every state kept, or a frame of many at once."""

from .. import layout as at
from ..observations import FEATURES
from ..workspace import PLAYING, PLAYING_COUNT, PRESSED
from .compiled import inlined, kernel
from .features import hidden_of, observe
from .game import advance


@kernel
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


@kernel
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


@kernel
def play_keys(lanes, reals, integers, keys, begins, frames, played, memory, work):
    """Play all games: game g with keys[begins[g] : begins[g + 1]], into the frames from begins[g] + g on.

    A game that is over leaves its lane to the next one.
    """
    games = len(played)
    for game in range(games):
        _keep(reals[game], frames[begins[game] + game])
    following = count = 0
    while True:
        kept = 0
        for place in range(count):
            game = work[place, PLAYING]
            if played[game] < begins[game + 1] - begins[game] and reals[game, at.ENDED] == 0.0:
                work[kept, PLAYING] = game
                kept += 1
        while kept < len(lanes) and following < games:
            if begins[following + 1] > begins[following] and reals[following, at.ENDED] == 0.0:
                work[kept, PLAYING] = following
                kept += 1
            following += 1
        count = kept
        if count == 0:
            return
        work[0, PLAYING_COUNT] = count
        for place in range(count):
            game = work[place, PLAYING]
            work[place, PRESSED] = keys[begins[game] + played[game]]
        advance(lanes, reals, integers, memory, work)
        for place in range(count):
            game = work[place, PLAYING]
            played[game] += 1
            _keep(reals[game], frames[begins[game] + game + played[game]])


@inlined
def _keep(reals, frame):
    for place in range(at.EVENTS + 6):
        frame[place] = reals[place]
    hidden_of(reals, frame[at.EVENTS + 6 :])
