"""Rescue of games that cannot be written to their dataset's folder."""

import tempfile
from pathlib import Path

from ..common.command_line import next_command
from ..common.errors import BadInput
from ..common.files import beside
from ..datasets.schema import Episode
from ..datasets.writer import DatasetWriter


class RescuingWriter:
    """Writes episodes as `DatasetWriter` does; one that cannot be written goes to a folder for temporary files."""

    def __init__(self, writer: DatasetWriter) -> None:
        self.folder = writer.folder
        self._writer = writer
        self._elsewhere: DatasetWriter | None = None

    def write(self, episode: Episode) -> Path:
        """Add an episode and return its path, once it is on the disk.

        If that fails (a full disk, lost permissions, a missing folder), BadInput names the episode's new place.
        """
        try:
            return self._writer.write(episode)
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            raise BadInput(f"{self.folder}: cannot be written ({why}); {self._rescue(episode)}") from None

    def _rescue(self, episode: Episode) -> str:
        try:
            if self._elsewhere is None:
                self._elsewhere = DatasetWriter(tempfile.mkdtemp(prefix="qwop-"), self._writer.info)
            self._elsewhere.write(episode)
        except (OSError, BadInput):
            return "the game that has just ended is lost, all before it are kept; make room, then record again"
        here, rescued = self.folder, self._elsewhere.folder
        both = next_command("qwop-dataset copy", dataset=here, others=[str(rescued)], out=beside(here, "2"))
        return (
            f"what could not be written is in {rescued}, a dataset of its own; make room, then put both together: "
            f"{both.removeprefix('next: ')}"
        )
