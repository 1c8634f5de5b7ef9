"""Which environment an episode or a policy belongs to, as data."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from ..common.errors import BadInput
from .registration import registered_id, short_id


@dataclass(frozen=True)
class EnvironmentSpec:
    """A Gymnasium environment with discrete actions, by name and settings.

    Stored with datasets and policies, so that neither is used in another environment by mistake. `settings` are the
    keyword arguments of `gymnasium.make` that change the task (frames a decision, reward), not how it is shown.
    """

    id: str = "QWOP-v1"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", short_id(self.id))

    def make(self, **more: Any) -> gymnasium.Env[Any, Any]:
        """One environment; `more` are settings that do not change the task (`render_mode`, `max_idle_frames`)."""
        with self.refusing():
            return gymnasium.make(registered_id(self.id), **{**self.settings, **more})

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Within it, what Gymnasium or the environment says of a wrong name or setting is `BadInput`."""
        try:
            yield
        except gymnasium.error.Error as error:
            raise BadInput(f"environment {self.id}: {str(error).splitlines()[0]}") from None
        except TypeError as error:
            # A setting that the constructor does not have.
            found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if found is None:
                raise
            raise BadInput(f"environment {self.id}: no setting {found[1]}") from None

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "settings": dict(self.settings)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "EnvironmentSpec":
        return cls(id=str(data["id"]), settings=dict(data["settings"]))

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        return f"{self.id}({inside})"
