"""Writing: each episode is written atomically, and nothing is overwritten."""

import os
from pathlib import Path

from ..common.errors import BadInput
from ..common.files import named_path, new_folder, synced_file, write_atomic
from ..common.folder_lock import FolderLock, claimed
from .folder import ASIDE, DESCRIPTION, EPISODES, episode_name, next_number, read_info, require_same, subfolder, to_text
from .parquet import to_parquet
from .schema import DatasetInfo, Episode


class DatasetWriter:
    """Writes episodes to `folder`, which is created and described unless it already is a dataset.

    A writer has the folder of episodes for itself while it takes a number and writes its file. The file is written
    under a temporary name, synced, and then renamed: what has an episode's name is complete, numbering continues, and
    any number of writers can share a folder (but for Windows, see `claimed`). A killed writer leaves at worst a
    temporary file. Raises BadInput if the folder holds episodes of other settings, and for settings that files may not
    contain. alone: no other process writes there, so that the folder is listed once, not for every episode.
    """

    def __init__(self, folder: str | os.PathLike[str], info: DatasetInfo, *, alone: bool = False) -> None:
        self.folder = named_path(folder, "dataset's folder")
        info.environment.require_readable()
        try:
            with new_folder(self.folder):
                self._presence = FolderLock(self.folder, within=(EPISODES, ASIDE))  # before it writes anything
                self._episodes = subfolder(self.folder, EPISODES)
                with claimed(self._episodes, wait=True):
                    if not (self.folder / DESCRIPTION).exists():
                        if next_number(self.folder) > 0:
                            raise BadInput(f"{self.folder}: has episodes but no {DESCRIPTION}; give another folder")
                        write_atomic(self.folder / DESCRIPTION, to_text(info.with_names.to_json()))
        except (FileExistsError, NotADirectoryError):
            raise BadInput(f"{self.folder}: a file is in the way; give another folder") from None
        except OSError as error:
            raise BadInput(f"{self.folder}: cannot be written ({error.strerror}); give another folder") from None
        require_same(self.folder, info)
        self.info = read_info(self.folder)
        self._next, self._alone = 0, alone

    def write(self, episode: Episode) -> Path:
        """Add an episode and return its path, once it is on the disk; ValueError if it does not fit `info`."""
        episode.require_fit(self.info)
        os.stat(self._episodes)  # the lock would make it again, though its dataset is gone
        with claimed(self._episodes, wait=True):
            # The number of a game that was set aside since is not given again.
            number = self._next if self._alone and self._next else max(self._next, next_number(self.folder))
            content = to_parquet(episode, self.info, number)
            path = self._episodes / episode_name(number, content)
            with synced_file(path) as partial:
                partial.write_bytes(content)
            self._next = number + 1
            return path
