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
    for expected in ("recording", "10/20", rate, "left"):
        assert expected in text


def test_the_rate_in_the_end_is_that_of_the_whole_time() -> None:
    now = 0.0
    console = Console(width=120, file=io.StringIO(), force_terminal=True, get_time=lambda: now)
    progress = progress_bar("games", console)
    progress.get_time = lambda: now
    task = progress.add_task("recording", total=20)
    for step in range(1, 21):  # all at once, after ten seconds
        now = 10 + step / 1000
        progress.advance(task)
    console.print(progress)
    assert "2.0 games/s" in console.file.getvalue()  # type: ignore[attr-defined]


def test_no_time_is_left_where_nobody_knows_how_much_there_is_to_do() -> None:
    console = Console(width=120, file=io.StringIO(), force_terminal=True)
    progress = progress_bar("games", console)
    progress.update(progress.add_task("recording", total=None), completed=9)
    console.print(progress)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "9/?" in text
    assert "left" not in text


def test_what_others_print_is_shown_beside_a_quiet_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("games", Console(force_terminal=True, quiet=True)) as bar:
        task = bar.add_task("recording", total=2)
        print("printed")
        bar.update(task, completed=1)
    assert capsys.readouterr().out == "printed\n"
