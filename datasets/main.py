"""`qwop-dataset VERB DIR setting=value …`: tools for datasets."""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import takewhile

from ..common.errors import BadInput, printable
from ..common.run_folder import override
from ..common.schema import nearest

VERBS = {
    "verify": ("qwop.datasets.verify", "check everything, including by replay"),
    "describe": ("qwop.datasets.describe", "write the card"),
    "copy": ("qwop.datasets.editing.copy", "merge datasets, leave episodes out, split by episode"),
    "relabel": ("qwop.datasets.editing.relabel", "other rewards, observations or decision rates, by replay"),
    "reestimate": ("qwop.pretrain.settings", "a person's behaviour probabilities, by clones"),
    "reconstruct": ("qwop.datasets.reconstruction.command", "find the keys of every frame of imported recordings"),
    "report": ("qwop.datasets.report", "a page of pictures: keys, distances, endings, and a player of games"),
    "import": ("qwop.datasets.exchange.import_command", "from tables (CSV, Parquet, npz, LeRobot) or Minari"),
    "export": ("qwop.datasets.exchange.export_command", "for Minari, d3rlpy, or the hub of Hugging Face"),
}
"""The module of each verb, which has a `command`, and what it does."""

HELP = ("-h", "--help")


def main() -> None:
    """Run the verb that the command line begins with; DIR, and those to merge with it, need no settings. BadInput for
    no verb, and for folders too many."""
    verb, arguments = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if verb in HELP:
        print(_usage())
        return
    if verb == "--version":
        print("qwop", version("qwop"))
        return
    if verb not in VERBS:
        fault = f"no verb {printable(verb)}" if verb else "no verb"
        near = nearest(verb, VERBS)
        question = f"did you mean {near}? The verbs are" if near else "expected one of"
        raise BadInput(f"{fault}; {question} {', '.join(VERBS)}, as --help shows them")
    sys.argv = [sys.argv[0], *with_names(verb, arguments)]
    module, _ = VERBS[verb]
    import_module(module).command()


def with_names(verb: str, arguments: Sequence[str]) -> list[str]:
    """The arguments of a verb as settings: the first folders are `dataset` and, of `copy`, `others`. BadInput for more
    folders than the verb takes."""
    folders = list(takewhile(_is_folder, arguments))
    rest = list(arguments[len(folders) :])
    if not folders:
        return rest
    first, *others = folders
    settings = [one for one in rest if one.startswith("dataset=")]
    if settings or (others and verb != "copy"):
        raise BadInput(f"{' and '.join(printable(one) for one in [*folders, *settings])}: give one dataset")
    more = [override("others", others)] if others else []
    return [override("dataset", first), *more, *rest]


def _is_folder(argument: str) -> bool:
    """True for the folder's name alone, which may have an equals sign if it is there or is no setting's name."""
    name, equals, _ = argument.partition("=")
    if argument.startswith("-"):
        return False
    return not equals or not re.fullmatch(r"[+~]*\w[\w.]*", name) or os.path.lexists(argument)


def _usage() -> str:
    verbs = "\n".join(f"  {verb:12} {about}" for verb, (_, about) in VERBS.items())
    return (
        f"qwop-dataset VERB DIR setting=value …\n\nVerbs:\n{verbs}\n\nqwop-dataset VERB --help shows a verb's settings."
    )
