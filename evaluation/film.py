"""Films and key files of an evaluation's best game."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.actions import Env
from ..envs.names import FRAMES_A_SECOND
from ..envs.pictures.video import game_pictures, write_video
from ..envs.qwop.keys_file import write_keys
from ..envs.qwop.session import Replay, replay
from ..envs.spec import EnvironmentSpec, Observations
from ..policies.rollout import Game

LONGEST_FILM = 10 * 60 * FRAMES_A_SECOND
"""Frames."""


def save_keys(path: Path, game: Game) -> Path:
    """Write the keys of every frame of a game of QWOP, for `replay(read_keys(path))` or `qwop-evaluate keys=…`."""
    assert game.keys is not None
    title = f"QWOP: {game.info['score']:.1f} m in {game.info['time']:.2f} s, {game.outcome}"
    return write_keys(path, np.concatenate(game.keys), title)


def film(path: Path, game: Game, spec: EnvironmentSpec, progress: Callable[[int, int], None]) -> str | None:
    """Write a film of the game. Returns None, or the reason for the missing film: an environment that cannot render, a
    writer of films that fails.

    `progress` is called with the number of pictures so far and their total.
    """
    try:
        if game.keys is None:
            return film_actions(path, spec, game.seed, game.actions, game.observations, progress)
        film_keys(path, np.concatenate(game.keys), progress)
    except (ImportError, RuntimeError) as error:  # imageio's, without its ffmpeg or where that fails
        return str(error).splitlines()[0]
    return None


def film_actions(
    path: Path,
    spec: EnvironmentSpec,
    seed: int,
    actions: NDArray[np.int16],
    observations: Observations,
    progress: Callable[[int, int], None],
) -> str | None:
    """Write a film of the game replayed from a seed and actions, int16 [T]. Returns None, or why there is no film: an
    environment that does not give the game's observations, [T + 1, *shape] or the last one alone, again, for example.
    """
    try:
        env = spec.make(render_mode="rgb_array")
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        return str(error).splitlines()[0]
    if "rgb_array" not in env.metadata.get("render_modes", []):
        return f"{spec.id} has no rgb_array"
    try:
        fps = float(env.metadata.get("render_fps") or 30)
        write_video(path, _with_bar(_pictures_of(env, seed, actions, observations), len(actions) + 1, progress), fps)
    except (gymnasium.error.Error, ImportError, BadInput) as error:
        return str(error).splitlines()[0]
    finally:
        env.close()
    return None


def film_keys(path: Path, keys: NDArray[np.uint8], progress: Callable[[int, int], None]) -> None:
    """Write a film of the game of QWOP with these keys, uint8 [n]; at most its first ten minutes."""
    film_replay(path, replay(keys[:LONGEST_FILM]), keys, progress)


def film_replay(path: Path, game: Replay, keys: NDArray[np.uint8], progress: Callable[[int, int], None]) -> None:
    """Write a film of a game of QWOP that was played with these keys, uint8 [≥ n]."""
    pictures = game_pictures(game.states, game.events, keys)
    write_video(path, _with_bar(pictures, len(game.states), progress))


def _pictures_of(
    env: Env, seed: int, actions: NDArray[np.int16], observations: Observations
) -> Iterator[NDArray[np.uint8]]:
    """Pictures of a game replayed from its seed and actions, for deterministic environments.

    BadInput for a picture of another size than the first, and for another game.
    """
    # The last of several may be a stand-in for an observation that is not known (`write_episode`).
    records = {len(actions): observations[0]} if len(observations) == 1 else dict(enumerate(observations[:-1]))
    observation, _ = env.reset(seed=seed)
    _require_same(observation, records.get(0))
    first: Any = env.render()
    yield first
    for number, action in enumerate(actions.tolist(), 1):
        observation, *_ = env.step(action)
        _require_same(observation, records.get(number))
        picture: Any = env.render()
        if picture.shape != first.shape:
            raise BadInput(f"its pictures change their size, from {list(first.shape)} to {list(picture.shape)}")
        yield picture


def _require_same(observation: Any, record: Observations | None) -> None:
    if record is not None and (np.shape(observation) != record.shape or not np.allclose(observation, record)):
        raise BadInput(
            "the same seed and actions give another game; the environment was changed, or draws its chances from "
            "something else than self.np_random, which super().reset(seed=seed) makes"
        )


def _with_bar(
    pictures: Iterator[NDArray[np.uint8]], total: int, progress: Callable[[int, int], None]
) -> Iterator[NDArray[np.uint8]]:
    for number, picture in enumerate(pictures, 1):
        yield picture
        progress(number, total)
