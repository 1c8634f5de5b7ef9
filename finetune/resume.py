"""Settings that a resumed run may change."""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..common.checks import quoted
from ..common.command import CONFIGURATION, read_settings
from ..common.errors import BadInput, naming
from ..common.resume import checkpoint_to_resume, require_same, require_same_settings, restoring
from ..common.settings import read, to_plain
from .checkpoint import checkpoints, load_newest
from .log import METRICS
from .run import POLICY
from .settings import FinetuneSettings, ScheduleSettings

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
    with naming(out / CONFIGURATION):
        before = read(FinetuneSettings, read_settings(out / CONFIGURATION))
    require_same_settings(to_plain(before), to_plain(settings), out, (*MAY_DIFFER, "schedule"))
    newest, state = load_newest(found, say)
    with restoring(newest):
        past = int(state["phase"]) + 1
        if (shown := state["demonstrations"]) is not None:
            state["demonstrations"] = {"games": int(shown["games"]), "sha256": str(shown["sha256"])}
    _require_same_past(before.schedule, settings.schedule, past, out)
    return newest, state


def _require_same_past(before: ScheduleSettings, now: ScheduleSettings, begun: int, out: Path) -> None:
    """Raise BadInput unless the first phases, `begun` of them, are the same."""
    was, given = to_plain(before)["phases"], to_plain(now)["phases"]
    require_same(before.scale, now.scale, "schedule.scale", out)
    require_same(before.decisions, now.decisions, "schedule.decisions", out)
    if now.decisions is not None:  # another phase would change the lengths of past phases
        require_same(was, given, "schedule.phases", out)
    for one, other in zip_longest([*was][:begun], [*given][:begun]):
        if one != other or was[one] != given[one]:
            found = quoted(given[one], 500) if one == other else f"{quoted(other or 'none')} in its place"
            raise BadInput(
                f"{out}: schedule.phases.{quoted(one)} has started as {quoted(was[one], 500)}, not {found}; only later "
                "phases can still change"
            )
