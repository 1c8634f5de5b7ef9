"""Default sizes of new networks; settings read them without loading PyTorch."""

from typing import Annotated, Literal

from pydantic import Field

HIDDEN = (256, 128)
"""Layer widths of the published runner (71 → 256 → 128 → 11 and 11: 54,166 parameters)."""

MEMORY = 128
"""Units of an LSTM."""

LATENT = 64
"""Size of the latent z of a two-timescale network."""

PERIOD = 10
"""Decisions from one tick of its slow core to the next; the paper draws 5 to 20 for each agent."""

LONGEST_PERIOD = 10_000

NATURE, NIPS, FINE = "nature", "nips", "fine"

CONVOLUTIONS = {
    NATURE: ((32, 8, 4), (64, 4, 2), (64, 3, 1)),
    NIPS: ((16, 8, 4), (32, 4, 2)),
    FINE: ((32, 4, 2), (64, 3, 2)),
}
"""Features, size and stride of each convolution, by name: those of Mnih et al. 2015 (in Nature) and 2013 (at NIPS), and
our own for small pictures, of which 36 × 36 pixels leave 8 × 8 cells instead of one."""


Convolutions = Annotated[
    Literal["nature", "nips", "fine"],
    Field(
        description="Convolutions of a new network for images: nature, those of Mnih et al. 2015; nips, the smaller "
        "ones of Mnih et al. 2013, twice as fast; fine, with small strides, for pictures of about 36 pixels."
    ),
]
