from qwop.finetune.schedules.stability import ReturnMonitor, StabilitySettings

SETTINGS = StabilitySettings(window=50, drop=0.25, errors=4.0)


def fed(returns: list[float]) -> ReturnMonitor:
    monitor = ReturnMonitor(SETTINGS)
    for one in returns:
        monitor.add(one)
    return monitor


def noisy(mean: float, count: int, spread: float = 10.0) -> list[float]:
    return [mean + spread * (-1) ** i for i in range(count)]


def test_steady_and_improving_play_is_stable() -> None:
    assert not fed(noisy(100, 500)).unstable
    assert not fed([i + 10 * (-1) ** i for i in range(500)]).unstable


def test_a_lasting_loss_of_a_quarter_is_unstable() -> None:
    assert not fed(noisy(100, 200) + noisy(80, 50)).unstable
    assert fed(noisy(100, 200) + noisy(70, 50)).unstable


def test_a_loss_within_the_noise_is_stable() -> None:
    assert not fed(noisy(100, 200, spread=300) + noisy(50, 50, spread=300)).unstable


def test_nothing_is_said_before_the_window_is_full() -> None:
    assert not fed([100.0] * 20 + [0.0] * 20).unstable


def test_negative_returns_count_as_well() -> None:
    assert fed(noisy(-10, 100, 1) + noisy(-20, 50, 1)).unstable


def test_a_restart_forgets_and_a_state_remembers() -> None:
    monitor = fed(noisy(100, 200))
    other = ReturnMonitor(SETTINGS)
    other.set_state(monitor.get_state())
    monitor.restart()
    for one in noisy(50, 50):
        monitor.add(one)
        other.add(one)
    assert not monitor.unstable
    assert other.unstable


def test_the_best_mean_is_restored_with_the_returns() -> None:
    resumed = ReturnMonitor(SETTINGS)
    resumed.set_state(fed(noisy(100, 200) + noisy(80, 50)).get_state())
    for one in noisy(72, 50):  # a loss of a tenth since then, but of more than a quarter since the best
        resumed.add(one)
    assert resumed.unstable
