"""Settings of networks: as plain data for a policy's file, and read from it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, create_model
from torch import Tensor

from ..common.settings import Width
from ..envs.spec import ObservationSpec
from .sizes import LONGEST_PERIOD, NATURE, Convolutions

KINDS: Mapping[str, Any] = {
    "hidden": Annotated[list[Width], Field(max_length=64)],
    "memory": Width,
    "latent": Width,
    "period": Annotated[int, Field(ge=1, le=LONGEST_PERIOD)],
    "memory_slots": Annotated[int, Field(ge=0, le=4096)],
    "members": Annotated[int, Field(ge=1, le=1000)],
    "dueling": bool,
    "layer_norm": bool,
    "convolutions": Convolutions,
}
"""What a file may describe, by name."""


class Described:
    """Base class of networks that a file describes by arguments of their constructor.

    described: the names of these arguments. Each has an attribute of its name; that of `convolutions`, which only
    networks of pictures describe, is `convolutions_name`.
    """

    observation: ObservationSpec
    described: ClassVar[Sequence[str]] = ()

    def description(self) -> dict[str, object]:
        """The settings of the architecture, as plain data."""
        names = {name: name for name in self.described if name != "convolutions"}
        if "convolutions" in self.described and self.observation.is_image:
            names["convolutions"] = "convolutions_name"
        return {name: _plain(getattr(self, attribute)) for name, attribute in names.items()}

    @classmethod
    def arguments(cls, description: Mapping[str, Any]) -> dict[str, Any]:
        """The constructor's arguments in a file's description. Raises ValueError for a wrong one."""
        fields: Any = {name: (KINDS[name], NATURE if name == "convolutions" else ...) for name in cls.described}
        return dict(create_model(cls.__name__, __config__=ConfigDict(strict=True), **fields)(**description))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, Tensor) else value
