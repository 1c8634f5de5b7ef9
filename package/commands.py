"""The console scripts.

Each checks that its extra is installed before it imports anything of it, so that a light installation answers
with one line instead of a traceback.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path

from .common.ends import quiet_imports, whole_program
from .common.lazy import import_quickly

TRAINING = ("hydra", "omegaconf", "safetensors", "tensorboard", "torch", "websockets")
"""Modules of the extra `train`, as imported."""

EXIT_NOT_INSTALLED = 2


def _command(module: str, modules: Sequence[str] = TRAINING, extra: str = "train") -> Callable[[], None]:
    """Return the console script of a module that has a `main` and needs the modules of an extra."""

    def script() -> None:
        program = Path(sys.argv[0]).name
        _replace_what_cannot_be_encoded()
        with quiet_imports():
            missing = [name for name in modules if find_spec(name) is None]
            main = None if missing else import_quickly(module).main
        if main is None:
            print(
                f"{program}: {missing[0]} is not installed; {program} needs the extra '{extra}': "
                f"pip install 'qwop[{extra}]'",
                file=sys.stderr,
            )
            sys.exit(EXIT_NOT_INSTALLED)
        with whole_program(program):
            main()

    return script


def _replace_what_cannot_be_encoded() -> None:
    """Print a question mark for a character that the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


dataset = _command("qwop.datasets.main")
record = _command("qwop.recorder.command")
pretrain = _command("qwop.pretrain.command")
reestimate = _command("qwop.pretrain.reestimate_command")
finetune = _command("qwop.finetune.main")
evaluate = _command("qwop.evaluation.command")
search = _command("qwop.search.command")
distil = _command("qwop.search.distil_command")
watch = _command("qwop.evaluation.watch_command")
play = _command("qwop.play.main", ("hydra", "omegaconf"))
population = _command("qwop.population.main")
coach = _command("qwop.coach.command")
study = _command("qwop.study.command", (*TRAINING, "optuna"), "study")
