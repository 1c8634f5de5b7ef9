"""`source=browser`: games on the page of the original; here on a toy page with the same names."""

import subprocess
import sysconfig
import time
from pathlib import Path

import numpy as np
from qwop.datasets import open_dataset
from qwop.datasets.origin import Origin

from ..fakes import until, xdotool

COMMAND = str(Path(sysconfig.get_path("scripts")) / "qwop-record")


def test_a_person_plays_in_the_window_until_it_is_closed(
    chromium: None, fake: Path, display: str, tmp_path: Path
) -> None:
    folder = tmp_path / "games"
    words = ["source=browser", f"source.folder={fake}", "source.player=somebody", f"dataset={folder}"]
    with (tmp_path / "said").open("w") as said:
        recording = subprocess.Popen([COMMAND, *words], stdout=said, stderr=said)
    assert until(lambda: "play in the window" in (tmp_path / "said").read_text()), (tmp_path / "said").read_text()
    window = until(lambda: xdotool("search", "--onlyvisible", "--class", "chrom"))
    left, top = 100, 350  # inside the toy's canvas, under the browser's bars
    xdotool("windowfocus", window, "mousemove", left, top, "click", 1)
    # Backwards first: forwards, the toy would soon finish, and a busy machine holds keys for longer.
    for keys, seconds in (("wo", 0.4), ("q", 0.3), ("p", 1.0)):
        xdotool("keydown", *" keydown ".join(keys).split())
        time.sleep(seconds)
        xdotool("keyup", *" keyup ".join(keys).split())
    assert until(lambda: list(folder.glob("episodes/episode-*")), 60), (tmp_path / "said").read_text()
    xdotool("key", "ctrl+w")
    try:
        assert recording.wait(20) == 0, (tmp_path / "said").read_text()
    finally:
        recording.kill()
    (episode,) = open_dataset(folder)
    assert (episode.player, episode.mu) == ("somebody", "smoothed(0.05)")
    assert episode.outcome == "fell"
    assert (episode.source, episode.origin) == ("original page fake", Origin(differs=True))
    assert episode.keys is not None
    keys = np.concatenate(episode.keys)
    order = [int(key) for key, before in zip(keys, [0, *keys], strict=False) if key and key != before]
    assert [key for key in order if key in (6, 1, 8)] == [6, 1, 8]
