"""The bodies that touch the track and the hurdle, as bit masks."""

from .. import layout as at
from .compiled import kernel


@kernel
def touching(integers, track, hurdle):
    """Write which of each runner's bodies touch the track and the hurdle: int32 [n, INTEGERS] into int64 [n] twice.

    Bit b stands for body b of `layout`. The hurdle's own parts count where they touch the track, not each other.
    """
    for row in range(len(integers)):
        track[row] = 0
        hurdle[row] = 0
        for place in range(integers[row, at.CONTACT_COUNT]):
            contact = integers[row, at.ORDER + place]
            if integers[row, at.TOUCHING + contact] == 0:
                continue
            a, b = integers[row, at.BODY_A + contact], integers[row, at.BODY_B + contact]
            body, other = min(a, b), max(a, b)
            if at.TRACK <= other < at.TRACK + at.TRACKS:
                track[row] |= 1 << body
            elif at.HURDLE_BASE <= other < at.MOVING and body < at.HURDLE_BASE:
                hurdle[row] |= 1 << body
