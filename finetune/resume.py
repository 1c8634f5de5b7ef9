"""Settings that a resumed run may change."""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..common.checks import quoted
from ..common.command import CONFIGURATION, read_settings
from ..common.errors import BadInput, naming
from ..common.resume import checkpoint_to_resume, require_same, require_same_settings
from ..common.settings import to_plain
from .checkpoint import checkpoints, load_newest
from .log import METRICS
from .run import POLICY
from .schedules.phase import parse_phases
from .settings import FinetuneSettings

MAY_DIFFER = ("resume", "out", "device", "tracker", "threads", "video", "distributed")
"""Settings in which a resumed run may differ from its earlier part."""


def require_resumable(
    settings: FinetuneSettings, out: Path, say: Callable[[str], object]
) -> tuple[Path, dict[str, Any]] | None:
    """The newest whole checkpoint of the run in `out`, and its state; None for a new run, or one killed before its
    first checkpoint. say: prints a line about a damaged one.

    Raises BadInput if a run exists without resume=true, if there is none to resume, or if its settings differ. Phases
    of its schedule that have not started may differ, and phases may be added.
    """
    found, begun = checkpoints(out / "checkpoints"), (out / METRICS).exists()
    newest = checkpoint_to_resume(out, settings.resume, found, begun, out / POLICY)
    if newest is None:
        return None
    before, now = _settings_before(out / CONFIGURATION), to_plain(settings)
    require_same_settings(before, now, out, (*MAY_DIFFER, "schedule"))
    newest, state = load_newest(found, say)
    if type(state.get("phase")) is not int or not _are_shown(state.get("demonstrations")):
        raise BadInput(f"{newest}: not the state of a run; start anew with another out")
    _require_same_past(before["schedule"], now["schedule"], state["phase"] + 1, out)
    return newest, state


def _are_shown(found: object) -> bool:
    """True for demonstrations as a checkpoint names them; earlier versions named none."""
    return found is None or (isinstance(found, dict) and type(found.get("games")) is int and "sha256" in found)


def _settings_before(path: Path) -> dict[str, Any]:
    """The settings that the run was started with."""
    settings = read_settings(path)
    schedule = settings.get("schedule")
    phases = schedule.get("phases") if isinstance(schedule, dict) else None
    if not isinstance(phases, dict):
        raise BadInput(f"{path}: not the settings of a run; start anew with another out")
    with naming(path):
        parse_phases(phases)
    return settings


def _require_same_past(before: dict[str, Any], now: dict[str, Any], begun: int, out: Path) -> None:
    require_same(before.get("scale", 1.0), now.get("scale", 1.0), "schedule.scale", out)
    require_same(before.get("decisions"), now.get("decisions"), "schedule.decisions", out)
    if now.get("decisions") is not None:  # another phase would change the lengths of past phases
        require_same(before["phases"], now["phases"], "schedule.phases", out)
    pairs = zip_longest(parse_phases(before["phases"])[:begun], parse_phases(now["phases"])[:begun])
    for number, (was, given) in enumerate(pairs):
        if was != given:
            name, other = list(before["phases"])[number], [*now["phases"], "none"][number]
            found = quoted(now["phases"][name], 500) if name == other else f"{quoted(other)} in its place"
            raise BadInput(
                f"{out}: schedule.phases.{quoted(name)} has started as {quoted(before['phases'][name], 500)}, not "
                f"{found}; only later phases can still change"
            )
