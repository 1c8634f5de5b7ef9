"""The console scripts.

Each checks that its extra is installed before it imports anything of it, so that a light installation answers
with one line instead of a traceback.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

TRAINING = ("hydra", "omegaconf", "safetensors", "tensorboard", "torch", "websockets")
"""Modules of the extra `train`, as imported."""

EXIT_NOT_INSTALLED = 2


def _command(module: str, modules: Sequence[str] = TRAINING, extra: str = "train") -> Callable[[], None]:
    """Return the console script of a module that has a `main` and needs the modules of an extra."""

    def script() -> None:
        missing = [name for name in modules if find_spec(name) is None]
        if missing:
            program = Path(sys.argv[0]).name
            print(
                f"{program}: {missing[0]} is not installed; {program} needs the extra '{extra}': "
                f"pip install 'qwop[{extra}]'",
                file=sys.stderr,
            )
            sys.exit(EXIT_NOT_INSTALLED)
        import_module(module).main()

    return script


dataset = _command("qwop.datasets.main")
record = _command("qwop.recorder.main")
pretrain = _command("qwop.pretrain.main")
reestimate = _command("qwop.pretrain.reestimate_main")
finetune = _command("qwop.finetune.main")
evaluate = _command("qwop.evaluation.main")
search = _command("qwop.search.main")
distil = _command("qwop.search.distil_main")
watch = _command("qwop.evaluation.watch")
play = _command("qwop.play.main", ("hydra", "omegaconf"))
population = _command("qwop.population.main")
study = _command("qwop.study.main", (*TRAINING, "optuna"), "study")
