"""`qwop-study`: search the settings of a command, with repeats; fresh seeds decide between the finalists."""

import shlex
import sys
from pathlib import Path
from typing import Any

from ..common.errors import BadInput
from ..common.files import beside, require_writable_folder
from ..common.folder_lock import claimed, remove_leftovers
from ..common.progress import plain_console, progress_bar
from ..common.resume import require_same
from ..common.run_folder import (
    CONFIGURATION,
    override,
    read_settings,
    require_no_other_run,
    unused,
    write_configuration,
)
from ..common.settings import to_plain
from .journal import JOURNAL, open_journal
from .report import RESULTS, write_report
from .results import StudyResults, mean, results_of
from .runs import CommandRun
from .search import Search
from .settings import COMMANDS, StudyCommandSettings

MAY_DIFFER = ("trials", "finalists", "fresh_seeds")
"""Settings of the budget that may change when a study is continued."""


FOLDERS = ("trials", "fresh")
"""Folders within that of a study."""


def run(settings: StudyCommandSettings) -> None:
    """Search, run the finalists with fresh seeds, and write journal, runs, results and report to `out`. Continues an
    existing study; several processes may do so at once.
    """
    plan, out = settings.study, Path(settings.out)
    play = CommandRun(COMMANDS[plan.command], plan.settings or (), plan.objective)
    play.check(plan.space)
    require_writable_folder(out, "out")
    out.mkdir(parents=True, exist_ok=True)
    if links := [path for name in FOLDERS if (path := out / name).is_symlink()]:
        raise BadInput(f"{links[0]}: a link, behind which nothing is written; give another out")
    with claimed(out, wait=True):
        remove_leftovers([out])  # of killed processes: whoever writes here holds the lock
        require_no_other_run(out, StudyCommandSettings, (JOURNAL, RESULTS))
        if (out / CONFIGURATION).exists():
            _require_same_study(settings, out)
        write_configuration(settings, out)
        study = open_journal(out, plan, settings.seed)
    console = plain_console()
    console.file = sys.stdout  # the runs' output goes to files
    with progress_bar("runs", console) as bar:
        budget = plan.budget  # pruned trials have fewer runs
        most = budget.trials * budget.repeats + budget.finalists * budget.fresh_seeds
        task = bar.add_task("searching", total=most)

        def show() -> None:
            results = results_of(study, plan)
            runs, trials = sum(len(one.search) + len(one.fresh) for one in results.trials), len(results.trials)
            words = f"trial {trials} of {max(trials, budget.trials)}"
            if results.ranked:
                words += f", best mean {mean(results.ranked[0].search.values()):.4g}"
            bar.update(task, completed=runs, description=words)

        try:
            search = Search(study, plan, settings.seed, out, play, show)
            search.run()
            _require_finalists(results_of(study, plan), out)
            results = search.run_finalists()
        except KeyboardInterrupt:
            bar.console.print("stopped; the same command continues, and repeats only the interrupted run")
            raise
    with claimed(out, wait=True):
        page = write_report(out, study, results, settings, play)
    console.print(f"{results.verdict}\nreport: {page}")
    if (winner := results.winner) is not None:
        best = unused(beside(out, "best"))
        console.print(f"next: {shlex.join([*play.words(winner.values, 0), override('out', best)])}")


def _require_same_study(settings: StudyCommandSettings, out: Path) -> None:
    """Raise BadInput if `out` holds a study with other settings, except those that may differ."""
    before = read_settings(out / CONFIGURATION)
    now = to_plain(settings)
    for plain in (before, now):
        study: Any = plain.get("study")
        for name in MAY_DIFFER if isinstance(study, dict) and isinstance(study.get("budget"), dict) else ():
            study["budget"].pop(name, None)
    for name in ("seed", "study"):
        require_same(before.get(name), now[name], name, out)


def _require_finalists(results: StudyResults, out: Path) -> None:
    if not results.finalists:
        reason = next((one.error for one in reversed(results.trials) if one.error), "all were given up")
        raise BadInput(f"{out}: no trial has all its runs ({reason}); give another out, or more trials")
