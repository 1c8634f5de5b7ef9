"""Settings of live play in separate processes."""

from typing import Annotated, Literal

from pydantic import Field

from ...common.settings import Settings


class Local(Settings):
    """Live play, or all of a population, in one process."""

    name: Literal["local"] = "local"


class RaySettings(Settings):
    """Live play by actors on Ray (Moritz et al. 2018).

    Algorithms with importance weights for older live play (V-trace, ACER) use the first rollout that is ready; each
    actor then plays `loop.num_envs` games. For other algorithms the games are divided among the actors, which play
    synchronously. In a population each actor plays and trains for one agent at a time, with results bit-identical to
    those of a single process.
    """

    name: Literal["ray"] = "ray"
    actors: Annotated[int, Field(ge=1, le=4096)] = 2
    """Processes that play; those of a population learn, too."""
    address: str | None = None
    """Address of a running cluster, such as auto or ray://head:10001. null: start one on this machine."""
