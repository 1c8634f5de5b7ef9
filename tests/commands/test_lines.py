"""Every documented command line gives the settings that it promises, in every phase."""

import pytest

from .lines import LATER, in_own_folder, read_expected, settings_of

EXPECTED = read_expected()
UNTIL = pytest.mark.xfail(strict=True, reason="until the settings layer is one")


@pytest.mark.parametrize("line", [pytest.param(one, marks=UNTIL if one in LATER else ()) for one in EXPECTED])
def test_a_documented_line_gives_its_settings_in_every_phase(line: str) -> None:
    with in_own_folder():
        assert settings_of(line) == EXPECTED[line]
