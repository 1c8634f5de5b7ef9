"""The command that learns from recorded games, named once there are enough of them."""

from collections.abc import Callable
from pathlib import Path

from ..common.command_line import clone_next
from ..datasets.folder import episode_files

ENOUGH = 10
"""Games after which the command is named."""


class NextCommand:
    """Names the command while games are recorded into a folder. report: prints a line for the user."""

    def __init__(self, folder: Path, report: Callable[[str], None]) -> None:
        self._folder, self._report = folder, report
        self._named = self.command is not None

    @property
    def command(self) -> str | None:
        """The command, once there are enough games."""
        if not self._folder.is_dir() or len(episode_files(self._folder)) < ENOUGH:
            return None
        return clone_next(self._folder).removeprefix("next: ")

    def after_game(self) -> str | None:
        """Report and return the command after the game with which there are enough; None after every other one."""
        if self._named or (command := self.command) is None:
            return None
        self._named = True
        self._report(f"{ENOUGH} games are recorded; when you have enough, learn from them with: {command}")
        return command
