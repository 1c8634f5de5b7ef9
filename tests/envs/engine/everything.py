"""Every kernel of an engine, with games, pictures and numbers of all kinds: what it made, as digests by name."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.envs.engine import batch, bodies, layout, native, page
from qwop.envs.engine.batch import CONTACT_FEATURES, FEATURES
from qwop.envs.engine.page import play_together
from qwop.envs.engine.workspace import workspace
from qwop.envs.qwop.pixels import BONES, palette
from qwop.envs.qwop.task import GameArrays, QWOPTask

GAMES = np.load(Path(__file__).parents[1] / "recorded_games.npz")


def digest(*arrays: NDArray[Any]) -> str:
    found = hashlib.sha256()
    for one in arrays:
        found.update(np.ascontiguousarray(one).tobytes())
    return found.hexdigest()


def everything(engine: native.Engine, frames: int) -> dict[str, str]:
    """Digests of what the kernels make of the first `frames` of some games."""
    made: dict[str, str] = {}

    def call(name: str, *arguments: Any, out: tuple[NDArray[Any], ...], **form: Any) -> None:
        native.call(name, *arguments, library=engine, **form)
        made[name] = digest(*out, np.frombuffer(made.get(name, "").encode(), np.uint8))

    random = np.random.default_rng(0)
    pages = {name: page.loaded(name, engine) for name in ("current", "fdlibm")}
    for name, (reals, integers) in pages.items():
        made[f"load_page {name}"] = digest(reals, integers)
        call("reset_page", reals[0], integers[0], out=(reals, integers), trigonometry=name)
    keys = [
        GAMES[f"{name}/keys"][:frames] for name in ("run_06_dqn_b", "hold_05", "alternate_01", "hold_09", "run_11_acer")
    ]
    for name in ("current", "fdlibm"):
        reals, integers = (one.copy() for one in pages[name])
        made[f"play_keys {name}"] = digest(*play_together(reals, integers, keys[:1], 1, name, engine), reals, integers)
    reals, integers = (np.repeat(one, len(keys), axis=0) for one in pages["current"])
    together = play_together(reals, integers, keys, library=engine)
    made["play_keys together"] = digest(*together, reals, integers)
    for name in ("current", "fdlibm"):
        rows = tuple(np.repeat(one, 7, axis=0) for one in pages[name])
        space = workspace(engine.width)
        for _ in range(min(frames, 20)):
            pressed = random.integers(0, 16, 7).astype(np.uint8)
            call("play_frame", *rows, pressed, *space, out=rows, width=native.MANY, trigonometry=name)

    states = np.ascontiguousarray(np.concatenate(together)[:: max(frames // 8, 1), : layout.EVENTS])
    jumped, hidden = random.random(len(states)), random.normal(size=(len(states), 3))
    for kind, width in ((0, FEATURES), (2, CONTACT_FEATURES)):
        seen = np.zeros((len(states), width), np.float32)
        call("observe_all", kind, states, jumped, hidden, seen, out=(seen,))
    start = np.zeros(CONTACT_FEATURES, np.float32)
    call("observe_start", 2, np.zeros(layout.REALS), start, out=(start,))
    knees, apart = np.zeros(len(states)), np.zeros(len(reals))
    call("bent_knees", states, knees, out=(knees,))
    call("distances", reals, random.normal(size=FEATURES), np.zeros(FEATURES), apart, out=(apart,))
    paid = np.zeros(len(states) - 1)
    for kind in range(3):
        x, y = np.ascontiguousarray(states[:, 0]), np.ascontiguousarray(states[:, 1])
        call("decision_rewards", kind, 0.5, 1.0, 0.25, x, y, knees, x + 1, 0, 1, paid, out=(paid,))
    track, hurdle = np.zeros((2, len(integers)), dtype=np.int64)
    call("touching", integers, track, hurdle, out=(track, hurdle))
    feet, counts = np.zeros(len(track), dtype=np.int64), np.zeros((len(track), 5))
    columns = np.arange(layout.MOVING) % 4 - 1
    call("count_touchdowns", np.ones(len(track), bool), track, hurdle, columns, 3, 4, feet, counts, out=(feet, counts))
    for colour in (False, True):
        scene, colours = palette(colour)
        stacks = np.zeros((len(reals), 2, 40 * 40 * scene.shape[1]), np.uint8)
        chosen, begun = np.ones(len(reals), bool), np.arange(len(reals)) % 2 == 0
        call("draw_games", reals, chosen, begun, BONES, scene, colours, 40, 0, len(reals), stacks, out=(stacks,))

    for count in (1, 6):
        games = GameArrays(QWOPTask(observation="contact"), count)
        games.orders[:, batch.DO], games.orders[:, batch.FRAMES_TO_PLAY] = batch.DECIDE, 4
        rows = games.numbers, games.counters, games.observations, games.reals, games.integers
        for _ in range(-(-frames // 8)):
            games.orders[:, batch.KEYS_DOWN] = games.orders[:, batch.FIRST_KEYS_DOWN] = random.integers(0, 16, count)
            call(
                "play_games", *games._arguments, *workspace(engine.width), 0, count, 1, out=rows,
                width=1 if count == 1 else native.MANY,
            )  # fmt: skip

    nodes, slots, values = np.zeros(64), random.integers(0, 32, 40), random.random(40)
    call("set_leaves", nodes, 32, slots, values, out=(nodes,))
    slots_found = np.zeros(50, dtype=np.int64)
    call("find_leaves", nodes, 32, random.random(50) * nodes[1], slots_found, out=(slots_found,))
    theta, v, g = random.normal(size=(3, 37)).astype(np.float32)
    call("rmsprop", theta, abs(v), g, 1e-3, 0.99, 0.01, 1e-5, out=(theta, v))
    x, curved = np.linspace(-12, 12, 1001).astype(np.float32), np.zeros(1001, np.float32)
    call("tanh", x, curved, out=(curved,))
    assert len(bodies.START) == layout.MOVING
    return made
