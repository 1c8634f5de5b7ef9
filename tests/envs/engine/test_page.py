"""A page's first game, as kept in a file."""

import numpy as np
from qwop.envs.engine import page


def test_the_kept_first_game_is_the_one_that_the_kernels_play() -> None:
    for kept, played in zip(page.first_game(), page.played_first_game(), strict=True):
        assert kept.dtype == played.dtype
        assert kept.tobytes() == played.tobytes()
    assert np.load(page.FIRST_GAME).files == ["reals", "integers"]
