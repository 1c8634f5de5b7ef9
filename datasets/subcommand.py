"""A verb of `qwop-dataset` as a command."""

from typing import TypeVar

from ..common.command import Command
from ..common.settings import Settings

S = TypeVar("S", bound=Settings)

PREFIX = "dataset-"


class Subcommand(Command[S]):
    """`qwop-dataset <verb>`. Its configuration's name is `dataset-<verb>`."""

    @property
    def program(self) -> str:
        return f"qwop-dataset {self.name.removeprefix(PREFIX)}"
