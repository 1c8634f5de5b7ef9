from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest
from qwop.envs.spec import EnvironmentSpec

from ..fakes import Odd

Make = Callable[..., EnvironmentSpec]


@pytest.fixture
def odd() -> Iterator[Make]:
    """Registers `Odd`, or another class, with these settings; see, pay and tell may be values."""

    def make(entry_point: Any = Odd, limit: int | None = None, **settings: Any) -> EnvironmentSpec:
        for name in {"see", "pay", "tell"} & settings.keys():
            if (value := settings[name]) is not None and not callable(value):
                settings[name] = lambda count, value=value: value
        gymnasium.registry.pop("Odd-v0", None)
        # Gymnasium's own check would find some of what these environments do wrong.
        gymnasium.register("Odd-v0", entry_point, max_episode_steps=limit, kwargs=settings, disable_env_checker=True)
        return EnvironmentSpec("Odd-v0")

    yield make
    gymnasium.registry.pop("Odd-v0", None)
