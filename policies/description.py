"""Settings of networks: as plain data for a policy's file, and read from it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from ..common.errors import quoted
from ..common.reading import whole_number
from ..envs.spec import ObservationSpec
from .sizes import CONVOLUTIONS, LONGEST_PERIOD, NATURE

MOST_LAYERS = 64

LARGEST = {
    **dict.fromkeys(("hidden", "memory", "latent"), 65_536),
    "period": LONGEST_PERIOD,
    "memory_slots": 4096,
    "members": 1000,
}
"""The largest sizes that a file may describe."""


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
    def arguments(cls, description: Mapping[str, object]) -> dict[str, Any]:
        """The constructor's arguments in a file's description. Raises KeyError or ValueError for a wrong one."""
        settings = {"convolutions": NATURE, **description}  # which networks of numbers lack
        return {name: _read(name, settings[name]) for name in cls.described}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, Tensor) else value


def _read(name: str, value: object) -> object:
    """The value of the setting `name` in a file; ValueError for a wrong one."""
    if name == "hidden":
        if not isinstance(value, list) or len(value) > MOST_LAYERS:
            raise ValueError(f"hidden is {quoted(value)}, expected a list of at most {MOST_LAYERS} widths")
        return [whole_number(width, name, LARGEST[name]) for width in value]
    if name in LARGEST:
        none = name == "memory_slots" and type(value) is int and value == 0
        return 0 if none else whole_number(value, name, LARGEST[name])
    if name == "convolutions" and value not in [*CONVOLUTIONS]:
        raise ValueError(f"convolutions is {quoted(value)}, expected one of {', '.join(CONVOLUTIONS)}")
    if name != "convolutions" and not isinstance(value, bool):
        raise ValueError(f"{name} is {quoted(value)}, expected true or false")
    return value
