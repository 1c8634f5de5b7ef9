"""Whether a run can go on with the settings that it is given now."""

from itertools import zip_longest
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ..common.errors import BadInput
from .checkpoint import checkpoints, load_checkpoint
from .schedules.schedule import parse_phases

MAY_DIFFER = ("resume", "out", "device", "threads", "video", "hydra")
"""Settings that a resumed run need not share with the one that it goes on with."""


def require_resumable(config: DictConfig, out: Path) -> dict[str, Any]:
    """The newest checkpoint of the run in `out`.

    BadInput where it was started with other settings. Of its schedule, only phases that have not begun may differ, or
    be added.
    """
    found = checkpoints(out / "checkpoints")
    if not found:
        raise BadInput(f"{out}: no checkpoint to resume from; leave resume away to start")
    before: Any = OmegaConf.to_container(OmegaConf.load(out / "config.yaml"))
    now: Any = OmegaConf.to_container(config, resolve=True)
    for name in sorted((before.keys() | now.keys()) - {*MAY_DIFFER, "schedule"}):
        _require_same(before.get(name), now.get(name), name, out)
    state = load_checkpoint(found[-1])
    # Checkpoints of earlier versions do not tell.
    state.setdefault("phase", min(state["schedule"]["index"], len(before["schedule"]["phases"]) - 1))
    _require_same_past(before["schedule"], now["schedule"], state["phase"] + 1, out)
    return state


def _require_same(before: Any, now: Any, name: str, out: Path) -> None:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            _require_same(before.get(key), now.get(key), f"{name}.{key}", out)
    elif before != now:
        raise BadInput(f"{out}: was started with {name}: {before}, not {now}")


def _require_same_past(before: dict[str, Any], now: dict[str, Any], begun: int, out: Path) -> None:
    _require_same(before.get("scale", 1.0), now.get("scale", 1.0), "schedule.scale", out)
    pairs = zip_longest(parse_phases(before["phases"])[:begun], parse_phases(now["phases"])[:begun])
    for number, (was, given) in enumerate(pairs):
        if was != given:
            name, other = list(before["phases"])[number], [*now["phases"], "none"][number]
            found = now["phases"][name] if name == other else f"{other} in its place"
            raise BadInput(
                f"{out}: schedule.phases.{name} has begun as {before['phases'][name]}, not {found}; only phases after "
                "it can still change"
            )
