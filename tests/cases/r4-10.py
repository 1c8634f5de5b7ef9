"""A study's folder from somebody else has journal.log as a link to a file of ours. Continuing that study (docs/studies.md: the same
command continues) must not change our file. Wrong: _drop_unfinished_line cuts it off at its last line break, all of it without one,
before it is refused as "not the journal of this study"."""
import sys, tempfile
from pathlib import Path
from qwop.common.errors import BadInput
from qwop.commands import study as main
from qwop.study.journal import open_journal
work = Path(tempfile.mkdtemp()); mine = work / "thesis.odt"; folder = work / "study"; folder.mkdir()
content = b"\x00\x01binary, or a text whose last line has no end" * 50; mine.write_bytes(content)
(folder / "journal.log").symlink_to(mine)
settings = main.read(["study=cartpole-dqn", f"out={folder}"])
said = "accepted"
try: open_journal(folder, settings.study, 0)
except BadInput as error: said = "refused: " + str(error)[-70:]
left = mine.stat().st_size; wrong = mine.read_bytes() != content
print(f"{'wrong' if wrong else 'right'}: {said}; our file had {len(content)} bytes and has {left}"); sys.exit(wrong)
