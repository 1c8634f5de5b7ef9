#!/usr/bin/env python
"""A disk that is full during one run of a study: the run is recorded as failed for ever, although the same run works once there is
room again. Every other command keeps what was finished and goes on after 'make room and go on'."""
import errno, sys, tempfile
from dataclasses import replace
from pathlib import Path
from qwop.common.errors import BadInput
from qwop.study.runs import CommandRun, RunFailed
from qwop.study.settings import COMMANDS, ObjectiveSettings
folder = Path(tempfile.mkdtemp()) / "0000" / "0"; folder.parent.mkdir()
command = COMMANDS["qwop-evaluate"]; real = command.run; full = [True]
def run(settings):
    if full[0]: raise OSError(errno.ENOSPC, "No space left on device", str(folder / "evaluation.json"))
    Path(settings.out, "evaluation.json").write_text('{"finishes": 1}')
command.run = run
play = CommandRun(command, ["policy=champion", "episodes=1"], ObjectiveSettings(file="evaluation.json", figure="finishes"))
for label in ("disk full", "room again"):
    try: print(label, "->", play({}, 0, folder))
    except (RunFailed, OSError, BadInput) as e: print(label, "->", type(e).__name__, str(e)[:100]); worked = False
    else: worked = True
    full[0] = False
sys.exit(not worked)
