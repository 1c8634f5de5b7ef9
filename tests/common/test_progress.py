import io

import pytest
from qwop.common.progress import progress_bar
from rich.console import Console


@pytest.mark.parametrize(("seconds", "rate"), [(2, "5.0 games/s"), (50, "12.0 games/min")])
def test_the_bar_shows_count_rate_and_time(seconds: float, rate: str) -> None:
    now = 0.0
    console = Console(width=120, file=io.StringIO(), force_terminal=True, get_time=lambda: now)
    progress = progress_bar("games", console)
    progress.get_time = lambda: now
    task = progress.add_task("recording", total=20)
    for step in range(11):
        now = step * seconds / 10
        progress.update(task, completed=step)
    console.print(progress)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for expected in ("recording", "10/20", rate, "0:00:" if seconds == 2 else "0:00:50"):
        assert expected in text


def test_what_others_print_is_shown_beside_a_quiet_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("games", Console(force_terminal=True, quiet=True)) as bar:
        task = bar.add_task("recording", total=2)
        print("printed")
        bar.update(task, completed=1)
    assert capsys.readouterr().out == "printed\n"
