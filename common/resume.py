"""Runs in folders, begun and resumed: what every long command has in common."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gymnasium.error import Error
from rich.console import Console

from .errors import BadInput, EnvironmentFailed, naming, quoted

LONGEST = 500
"""Characters of a setting's value in a message: two lists may differ late."""


def checkpoint_to_resume(
    out: Path, resume: bool, checkpoints: Sequence[Path], has_begun: bool, policy: Path
) -> Path | None:
    """Return the newest of a run's checkpoints, oldest first; None for a new run, or one killed before it had one.

    Raises BadInput for a new run where one has begun and, with `resume`, if none has, or if its checkpoints are gone
    but a trained policy is there.
    """
    if not resume:
        if checkpoints or has_begun:
            raise BadInput(f"{out}: holds a run already; resume=true continues it, out=... starts another")
        return None
    if not checkpoints and policy.exists():
        raise BadInput(f"{out}: no checkpoint to resume from, only {policy}; give out= another folder to start anew")
    if not checkpoints and not has_begun:
        raise BadInput(f"{out}: no checkpoint to resume from; leave out resume to start")
    return checkpoints[-1] if checkpoints else None


def kept_policy(path: Path) -> Path:
    """The file of a policy that a run began with, which its folder keeps; BadInput if it is gone."""
    if not path.exists():
        raise BadInput(f"{path}: no such file; put back the policy that the run began with, or give out= another")
    return path


def require_same_settings(
    before: Mapping[str, object], now: Mapping[str, object], out: Path, except_for: Sequence[str]
) -> None:
    """Raise BadInput, naming the setting, unless all but these are those that the run in the folder began with."""
    for name in sorted((before.keys() | now.keys()) - set(except_for)):
        require_same(before.get(name), now.get(name), name, out)


def require_same(before: object, now: object, name: str, out: Path) -> None:
    """BadInput, naming the setting, unless the setting is the same, and everything in it."""
    if isinstance(before, dict) and isinstance(now, dict):  # the chosen option first, which decides what else is there
        for key in sorted(before.keys() | now.keys(), key=lambda key: (key not in ("name", "kind"), key)):
            require_same(before.get(key), now.get(key), f"{name}.{quoted(key)}", out)
    elif before != now:
        raise BadInput(
            f"{out}: was started with {name}: {quoted(before, LONGEST)}, not {quoted(now, LONGEST)}; go on with that, "
            "or start anew with another out"
        )


@contextmanager
def removed_unless_begun(out: Path, has_begun: Callable[[], bool]) -> Iterator[None]:
    """Context manager of a run: if it ends with BadInput before it has begun, its folder is removed, unless it held
    anything before."""
    new = not out.exists() or not any(out.iterdir())
    try:
        yield
    except BadInput:
        if new and not has_begun():
            shutil.rmtree(out, ignore_errors=True)
        raise


@contextmanager
def restoring(checkpoint: Path) -> Iterator[None]:
    """Context manager: raise BadInput, naming the checkpoint, if its state does not fit the run that takes it."""
    try:
        with naming(checkpoint):
            yield
    except BadInput:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, Error) as error:
        raise BadInput(
            f"{checkpoint}: does not fit this run ({type(error).__name__}: {quoted(error)}); remove it to resume "
            "from an older one"
        ) from error


@contextmanager
def saying_how_to_continue(console: Console, after: Callable[[], str], resumable: Callable[[], bool]) -> Iterator[None]:
    """Context manager: if the run is interrupted or its environment fails, print how far it got (`after`) and how to
    continue it."""
    try:
        yield
    except (EnvironmentFailed, KeyboardInterrupt) as end:
        if resumable():
            console.print(f"stopped after {after()}; the same command with resume=true continues")
        elif isinstance(end, KeyboardInterrupt):  # one that fails at once would fail again
            console.print(f"stopped after {after()}; the same command with resume=true starts anew")
        raise
