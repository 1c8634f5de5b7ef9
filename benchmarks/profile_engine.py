"""Profile of a frame: the kernels of `QWOP-v1` with a clock around each.

    python benchmarks/profile_engine.py

Compiles the batch's kernel again with readings of the processor's cycle counter around its parts (half a minute; the
cache is not touched), and plays the same stretch of games with random keys repeatedly, four frames per decision. The
cost of the clocks is measured and subtracted. Every round does the same work; for each decision the fastest tenth of
the rounds counts, which removes disturbances. The last line is measured without clocks in a process of its own, and
should be about the sum above it.
"""

import argparse
import platform
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from typing import Any

import numpy as np
from engine import FRAMES_PER_STEP, random_actions
from llvmlite import binding, ir
from numba.core import caching, types
from numba.extending import intrinsic
from numpy.typing import NDArray
from qwop.envs.engine import batch, game, island, linking, world
from qwop.envs.engine.compiled import compiled, inlined
from qwop.envs.engine.lanes import WIDTH
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.vector import QWOPVectorEnv
from rich.console import Console
from rich.table import Table

DECISIONS = 40
GAMES = {"one game": 1, f"batch of {8 * WIDTH}": 8 * WIDTH}
KERNEL, OUTSIDE = "rest of a decision", "the call, in Python"

# Timed kernels: the module that calls the kernel, its name there, the stage that it counts for, and the kernel that
# contains it, from which the cost of the clock is subtracted.
PARTS: tuple[tuple[Any, str, str, str | None], ...] = (
    (batch, "observe_game", "observation", "play_games"),
    (batch, "play_games", KERNEL, None),
    (game, "_before_step", "start: clock, track, head, keys", "play_games"),
    (game, "_after_step", "end: score, fall", "play_games"),
    (game, "step", "rest of the step", "play_games"),
    (world, "renew_contacts", "collision: contacts renewed", "step"),
    (world, "_gather_usual", "island gathered", "step"),
    (world, "_solve_islands", "other islands gathered", "step"),
    (world, "_move_boxes", "broad phase", "step"),
    (world, "solve_island", "movement, sine and cosine", "step"),
    (island, "_enter", "into and out of the lanes", "solve_island"),
    (island, "_leave", "into and out of the lanes", "solve_island"),
    (island, "_leave_positions", "into and out of the lanes", "_solve_positions"),
    (island, "_enter_positions", "into and out of the lanes", "_solve_positions"),
    (island, "_start_contacts", "contact solver: start", "solve_island"),
    (island, "_solve_velocities", "joints: start, velocity", "solve_island"),
    (island, "solve_contact_velocity", "contact solver: velocity", "_solve_velocities"),
    (island, "_solve_positions", "joints: position", "solve_island"),
    (island, "solve_contact_position", "contact solver: position", "_solve_positions"),
    (island, "_let_sleep", "boxes, sleep", "solve_island"),
    (island, "_renew_boxes", "boxes, sleep", "solve_island"),
)

# Numba infers the types of functions that kernels call.
_operation: Callable[..., Any] = intrinsic

TICKS, CALLS = range(2)
_counted = np.zeros((len(PARTS) + 1, 2), dtype=np.int64)
"""Cycles and calls of every part, excluding its own parts; the last row measures the clock itself."""
_inner = np.zeros(1, dtype=np.int64)
"""Cycles of the parts inside the one that is being timed."""


@_operation
def _now(context: Any) -> Any:
    """Read the processor's cycle counter after all earlier instructions are complete."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.asm(kind, "lfence\nrdtsc\nshlq $$32, %rdx\norq %rdx, %rax", "={rax},~{rdx},~{memory}", (), True)

    return types.int64(), build


@_operation
def _read(context: Any, address: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), build


@_operation
def _write(context: Any, address: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), build


def uncached(kernel: Any) -> Any:
    """Compile without caching."""
    dispatcher: Any = compiled(kernel)
    dispatcher._cache = caching.NullCache()
    return dispatcher


def timed(kernel: Any, row: int) -> Any:
    """Wrap a kernel so that it counts its cycles and calls in a row of `_counted`."""
    inner = _inner.ctypes.data
    ticks, calls = (_counted.ctypes.data + _counted.itemsize * (2 * row + column) for column in (TICKS, CALLS))

    @inlined
    def clocked(*arguments):  # type: ignore[no-untyped-def]
        outer = _read(inner)
        _write(inner, 0)
        began = _now()
        result = kernel(*arguments)
        taken = _now() - began
        _write(ticks, _read(ticks) + taken - _read(inner))
        _write(calls, _read(calls) + 1)
        _write(inner, outer + taken)
        return result

    return clocked


def clock_cost() -> tuple[float, float]:
    """Measure the cycles that a clock adds to the part that it times, and to the enclosing part."""

    @inlined
    def nothing(place):  # type: ignore[no-untyped-def]
        return place

    clocked = timed(nothing, len(PARTS))

    @uncached
    def repeat(count):  # type: ignore[no-untyped-def]
        began = _now()
        for place in range(count):
            clocked(place)
        return _now() - began

    best = (np.inf, np.inf)
    for _ in range(50):
        _counted[:] = 0
        whole = repeat(1000) / 1000
        own = _counted[-1, TICKS] / 1000
        best = min(best, (own, whole - own))
    return best


def one_game() -> tuple[Callable[[Any], int], Any, Any]:
    environment = QWOPEnv(frames_per_step=FRAMES_PER_STEP)
    environment.reset(seed=0)

    def decide(action: int) -> int:
        _, _, terminated, _, info = environment.step(action)
        if terminated:
            environment.reset()
        return int(info["frames"])

    return decide, environment, random_actions(2 * DECISIONS, 1)[:, 0].tolist()


def many_games(games: int) -> tuple[Callable[[Any], int], Any, Any]:
    environment = QWOPVectorEnv(games, autoreset_mode="SameStep", frames_per_step=FRAMES_PER_STEP, num_threads=1)
    environment.reset(seed=0)

    def decide(actions: NDArray[np.int64]) -> int:
        return int(environment.step(actions)[4]["frames"].sum())

    return decide, environment, random_actions(2 * DECISIONS, games)


def measure(games: int, rounds: int) -> tuple[float, NDArray[np.float64]]:
    """Microseconds per frame, and `_counted` for it: for every decision, the fastest tenth of the rounds."""
    decide, environment, actions = one_game() if games == 1 else many_games(games)
    for chosen in actions[:DECISIONS]:
        decide(chosen)
    start = environment.get_state()
    seconds = np.zeros((rounds, DECISIONS))
    counted = np.zeros((rounds, DECISIONS, *_counted.shape))
    frames = 0
    for now in range(rounds):
        environment.set_state(start)
        frames = 0
        for place, chosen in enumerate(actions[DECISIONS:]):
            _counted[:] = 0
            began = time.perf_counter()
            frames += decide(chosen)
            seconds[now, place] = time.perf_counter() - began
            counted[now, place] = _counted
    fastest = np.argsort(seconds, axis=0)[: max(rounds // 10, 1)]
    each = np.arange(DECISIONS)
    taken = seconds[fastest, each].mean(axis=0).sum()
    return 1e6 * float(taken) / frames, counted[fastest, each].mean(axis=0).sum(axis=0) / frames


def cycles_a_microsecond() -> float:
    @uncached
    def now():  # type: ignore[no-untyped-def]
        return _now()

    ticks, began = now(), time.perf_counter()
    time.sleep(0.5)
    return float(now() - ticks) / (1e6 * (time.perf_counter() - began))


def put_in_clocks() -> None:
    """Replace the timed kernels where they are called; must run before anything is compiled."""
    linking.whole = True
    batch.observe_start = uncached(batch.observe_start.py_func)  # type: ignore[attr-defined]  # the kept one is no whole
    for row, (module, name, _, _) in enumerate(PARTS):
        kernel = getattr(module, name)
        if name != "play_games":
            setattr(module, name, timed(kernel, row))
            continue
        clocked = timed(uncached(kernel.py_func), row)

        @uncached
        def play_games(  # type: ignore[no-untyped-def]
            lanes, reals, integers, counters, numbers, observations, final, orders, task, fresh_reals, fresh_integers,
            memory, work, first_row, last_row, follow,
        ):  # fmt: skip
            clocked(  # noqa: B023  (one kernel has this name)
                lanes, reals, integers, counters, numbers, observations, final, orders, task, fresh_reals,
                fresh_integers, memory, work, first_row, last_row, follow,
            )  # fmt: skip

        batch.play_games = play_games


def stages(whole: float, counted: NDArray[np.float64], speed: float, cost: tuple[float, float]) -> dict[str, float]:
    """Microseconds of every stage; `cost` in cycles (see `clock_cost`), `speed` in cycles per microsecond."""
    names = [name for _, name, _, _ in PARTS]
    own = counted[: len(PARTS), TICKS] - counted[: len(PARTS), CALLS] * cost[0]
    outside = whole - counted[: len(PARTS), TICKS].sum() / speed
    for row, (_, _, _, parent) in enumerate(PARTS):
        if parent is not None:
            own[names.index(parent)] -= counted[row, CALLS] * cost[1]
    found = dict.fromkeys((stage for _, _, stage, _ in PARTS), 0.0)
    for row, (_, _, stage, _) in enumerate(PARTS):
        found[stage] += own[row] / speed
    return {**dict(sorted(found.items(), key=lambda one: -one[1])), OUTSIDE: outside}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    if platform.machine().lower() not in ("x86_64", "amd64"):
        parser.error(f"a program cannot read the cycle counter of {platform.machine()}; expected x86_64")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        plain = {name: apart.submit(measure, games, arguments.rounds).result()[0] for name, games in GAMES.items()}
    binding.initialize_native_asmparser()
    speed, cost = cycles_a_microsecond(), clock_cost()
    put_in_clocks()
    found = {name: stages(*measure(games, arguments.rounds), speed, cost) for name, games in GAMES.items()}
    table = Table(title=f"µs a frame of one game, {FRAMES_PER_STEP} frames a decision, one thread")
    table.add_column("")
    for name in GAMES:
        table.add_column(name, justify="right")
        table.add_column("", justify="right")
    for stage in next(iter(found.values())):
        cells = [(f"{one[stage]:.2f}", f"{100 * one[stage] / sum(one.values()):.0f} %") for one in found.values()]
        table.add_row(stage, *chain.from_iterable(cells))
    table.add_section()
    for title, sums in (("sum", {name: sum(one.values()) for name, one in found.items()}), ("without clocks", plain)):
        table.add_row(title, *(cell for name in GAMES for cell in (f"{sums[name]:.2f}", "")))
    console = Console(width=100)
    console.print(table)
    console.print(f"a clock takes {cost[0]:.0f} cycles of what it times and {cost[1]:.0f} around it; taken off")


if __name__ == "__main__":
    main()
