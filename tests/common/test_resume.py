"""Words about how to continue a run."""

import io

import pytest
from qwop.common.errors import BadInput, EnvironmentFailed
from qwop.common.resume import saying_how_to_continue
from rich.console import Console


@pytest.mark.parametrize(
    ("error", "resumable", "message"),
    [
        (KeyboardInterrupt(), True, "stopped after 5 decisions; the same command with resume=true continues\n"),
        (EnvironmentFailed("its step failed"), True, "stopped after 5 decisions; the same command with resume=true "),
        (KeyboardInterrupt(), False, "stopped after 5 decisions; the same command with resume=true starts anew\n"),
        (EnvironmentFailed("its step failed"), False, ""),  # at once, as it would again
        (BadInput("training has diverged"), True, ""),  # which would go on as before
    ],
)
def test_a_run_that_stops_says_how_to_continue_it(error: BaseException, resumable: bool, message: str) -> None:
    output = io.StringIO()
    console = Console(file=output, width=200)
    with pytest.raises(type(error)), saying_how_to_continue(console, lambda: "5 decisions", lambda: resumable):
        raise error
    assert output.getvalue().startswith(message)
    assert bool(output.getvalue()) == bool(message)
