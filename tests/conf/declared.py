"""Right command lines of every command, the declarations of their settings, and values that these must refuse."""

import copy
import functools
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from omegaconf import OmegaConf
from qwop.common.checks import Declaration, allows_none, without_none
from qwop.common.command import Command
from qwop.common.settings import Settings, declarations, dotted, is_settings, type_of
from qwop.evaluation.command import main as evaluate
from qwop.finetune.main import main as finetune
from qwop.population.main import main as population
from qwop.pretrain.command import main as pretrain
from qwop.pretrain.reestimate_command import main as reestimate
from qwop.recorder.command import main as record
from qwop.study.command import main as study

LINES: list[tuple[Command[Any], list[str]]] = [
    (record, ["source=page"]),
    (record, ["source=keyboard"]),
    (record, ["source=browser"]),
    (record, ["source=policy", "source.policy=champion"]),
    (record, ["source=import", "source.files=[a.npz]"]),
    (record, ["source=keys", "source.files=[a.txt]"]),
    (pretrain, []),
    (reestimate, ["dataset=data/a", "out=data/b"]),
    (evaluate, ["policy=champion"]),
    (finetune, ["schedule=kurodo"]),
    (finetune, ["+schedule=ddqn-speed", "algorithm=ddqn"]),
    (finetune, ["schedule=champion", "algorithm=ppo"]),
    (finetune, ["schedule=live-only", "algorithm=acer-small"]),
    (finetune, ["schedule=live-only", "algorithm=dqn-small"]),
    (finetune, ["schedule=dqfd-like", "algorithm=ppo-small"]),
    (finetune, ["schedule=live-only", "algorithm=vtrace-small"]),
    (finetune, ["schedule=live-only", "algorithm=ftw", "algorithm.period=5"]),
    (finetune, ["schedule=live-only", "algorithm=vtrace", "algorithm.memory=64"]),
    (population, []),
    (population, ["agent=vtrace", "distributed=ray"]),
    (study, ["study=cartpole-dqn"]),
]
"""Command lines that are right: every command, with every option of its groups."""

NAMES = [" ".join([command.program, *line]) for command, line in LINES]


def composed(command: Command[Any], line: list[str]) -> dict[str, Any]:
    """The configuration of a command line as plain data."""
    return copy.deepcopy(_composed(command, tuple(line)))


@functools.cache
def _composed(command: Command[Any], line: tuple[str, ...]) -> dict[str, Any]:
    node: Any = OmegaConf.to_container(command.compose(line), resolve=True)
    return dict(node)


def every_declaration(
    cls: type[Settings], node: dict[str, Any], place: str = ""
) -> Iterator[tuple[str, Any, Declaration]]:
    """The place, type and declaration of every single setting in a configuration."""
    for name, spec in declarations(cls).items():
        here, kind = dotted(place, name), without_none(type_of(cls, name))
        if spec.inline:
            yield from every_declaration(kind, node, place)
        elif spec.options:
            group = declarations(cls)[spec.follows or name]
            option = node[spec.follows or name][group.tag]
            yield from every_declaration(spec.options[option], node[name], here)
        elif is_settings(kind):
            yield from every_declaration(kind, node[name], here)
        else:
            yield here, type_of(cls, name), spec


def wrong_values(hint: Any, spec: Declaration) -> Iterator[Any]:
    """Values that a setting of this declaration must refuse: of other types, not finite, out of range."""
    kind = without_none(hint)
    if spec.parse is not None:
        return
    if not allows_none(hint):
        yield None
    if get_origin(kind) in (tuple, list):
        item = get_args(kind)[0]
        yield from ([], {}, 3, "text", [{}], [None])
        yield from ([one] for one in _out_of_range(item, spec))
    elif get_origin(kind) is not None:
        yield from (3, "text", [1], True)
    elif kind is bool:
        yield from (0, 1, "maybe", [True], {}, 0.5)
    elif kind is str:
        yield from ("", " ", [], {}, ["text"], "a\0b")
        if spec.choices:
            yield "nonsense"
    else:
        yield from ("", "text", [], [1], {}, True, float("nan"), float("inf"), float("-inf"), 10**400)
        if kind is int:
            yield 1.5
        yield from _out_of_range(kind, spec)


def _out_of_range(kind: Any, spec: Declaration) -> Iterator[Any]:
    step = 1 if kind is int else 1e-3
    if spec.at_least is not None:
        yield spec.at_least - step
    if spec.above is not None:
        yield from (spec.above, spec.above - step)
    if spec.at_most is not None:
        yield spec.at_most + step
    if spec.below is not None:
        yield from (spec.below, spec.below + step)
    if spec.choices and kind is int:
        yield max(spec.choices) + 1
