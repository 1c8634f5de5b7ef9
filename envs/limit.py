"""The limit of games in environments that have none, so that evaluations and recordings end."""

import gymnasium

from .capabilities import NONE
from .spec import EnvironmentSpec
from .vector import has_compiled_form

LONGEST = 5_000
"""Decisions of a game in an environment that neither Gymnasium nor its own settings limit; most have 200 to 1,000."""

NO_LIMIT = -1
"""Gymnasium's number for no limit at all."""


def default_limit(spec: EnvironmentSpec) -> int | None:
    """Decisions after which a game is truncated where its environment has no limit; None where it has one.

    Vector forms that are played, and environments with abilities that we know, end their games themselves.
    """
    registered = gymnasium.envs.registration.registry.get(spec.registered_id)
    if registered is None or spec.capabilities != NONE or has_compiled_form(spec):
        return None
    asked = spec.settings.get("max_episode_steps")
    limit = registered.max_episode_steps if asked is None else asked
    return LONGEST if limit in (None, NO_LIMIT) else None


def limit_note(spec: EnvironmentSpec) -> list[str]:
    """A line about the limit to print before games are played; none where the environment has its own."""
    if (limit := default_limit(spec)) is None:
        return []
    return [
        f"{spec.id} sets no limit of decisions, so its games are truncated after {limit:,}; "
        "environment.max_episode_steps sets another"
    ]
