"""A sample of `python tests/faults`; all of it with `-m exhaustive`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts on Linux's signals and limits")


def survive(*arguments: str, script: str = "") -> None:
    """Run the command, or a script beside it; fails with what it says unless every fault was survived."""
    command = [sys.executable, str(Path(__file__).parent / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "survived" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("work", ["recording", "ACER", "evaluating"])
def test_a_run_survives_a_fault_of_each_kind(work: str) -> None:
    survive("--moments", "1", "--work", work)


@pytest.mark.slow
def test_promises_hold_on_a_disk_with_faults() -> None:
    survive("--seeds", "30", "--quick")


@pytest.mark.slow
def test_games_on_the_page_survive_signals() -> None:
    survive("--moments", "2", script="page.py")


@pytest.mark.exhaustive
@pytest.mark.parametrize("work", ["cloning", "DDQN", "PPO", "re-estimating"])
def test_other_runs_survive_a_fault_of_each_kind(work: str) -> None:
    survive("--moments", "1", "--work", work)


@pytest.mark.exhaustive
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("first", [10_000, 20_000, 30_000, 40_000])
def test_promises_hold_for_ten_thousand_seeds(first: int) -> None:
    survive("--seeds", "2400", "--first", str(first), "--quick")
    survive("--seeds", "100", "--first", str(first))


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "work", ["recording", "cloning", "ACER", "DDQN", "PPO", "searching", "distilling", "studying", "population"]
)
def test_a_run_survives_signals_at_sixty_moments(work: str) -> None:
    survive("--moments", "15", "--work", work, "--faults", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_games_on_the_page_survive_signals_at_sixty_moments() -> None:
    survive("--moments", "15", script="page.py")


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("work", ["recording", "finetuning"])
def test_long_work_takes_no_more_memory_descriptors_or_threads(work: str) -> None:
    command = [sys.executable, str(Path(__file__).parent / "steady.py"), "--work", work]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
