"""`qwop-coach`: rounds in which a person corrects a policy for some minutes, it learns, and both are measured."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ..commands import finetune, pretrain
from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.resume import removed_unless_begun
from ..common.run_folder import next_command, require_no_other_run, write_configuration
from ..datasets.control import corrected
from ..datasets.describe import describe
from ..datasets.embedded import CHAMPION
from ..datasets.folder import next_number
from ..datasets.reader import open_dataset
from ..datasets.schema import Episode
from ..datasets.writer import DatasetWriter
from ..evaluation.evaluate import evaluate
from ..evaluation.settings import EvaluationSettings
from ..finetune.figures import gain, pace, success
from ..policies.champion import policy_path
from ..policies.devices import use_one_thread
from ..policies.files import load_policy
from ..pretrain.main import MEASURES
from ..recorder.game_writer import GameWriter, record_interrupted
from ..recorder.main import CORRECTED_ELSEWHERE, open_source, record
from ..recorder.page.environment_game import decisions_a_second
from ..recorder.settings import EnvironmentPageSettings, RecorderPageSettings
from .settings import CoachSettings

POLICY, BEFORE, RESULT = "policy.safetensors", "before.safetensors", "result.json"
"""The policy of the newest round, the one that a round began with, and a round's figures, in their folders."""

CLONE = "clone"
"""The run of the policy that the rounds begin with, where none is given."""

MOST_ROUNDS = 1000

CLONED, LEARNED = "cloned", "learned"
"""The runs of a round, in its folder."""


def run(settings: CoachSettings) -> None:
    """Make a round, in a folder of its own; an interrupted one is continued."""
    out = Path(settings.out)
    rounds = [path.name for path in out.glob("round-*")]
    costly = f"{CLONE}*", "round-*/games"  # a clone, or games
    with (
        exclusive_lock(out, "out", within=rounds),
        removed_unless_begun(out, lambda: any(path for pattern in costly for path in out.glob(pattern))),
    ):
        console = plain_console()
        use_one_thread()
        _begin(settings, out, console)
        over = [number for number in range(1, MOST_ROUNDS) if (out / f"round-{number}" / RESULT).exists()]
        _round(settings, out, max(over, default=0) + 1, console)
        console.print("the same command begins the next round")
        console.print(next_command("qwop-watch", policy=out / POLICY))


def _begin(settings: CoachSettings, out: Path, console: Console) -> None:
    """Put the policy of the first round in place. BadInput for one that cannot be loaded, and for another one than the
    rounds in `out` began with."""
    first, policy = out / "round-1" / BEFORE, out / POLICY
    start = first if first.exists() else policy
    given = None if settings.policy is None else policy_path(settings.policy)
    if given is not None or start.exists():
        load_policy(given or start)
    require_no_other_run(out, CoachSettings, (POLICY,))
    if start.exists() and given is not None and start.read_bytes() != given.read_bytes():
        raise BadInput(
            f"policy={settings.policy}: the rounds in {out} began with another one; leave it out to go on, or name "
            "another folder with out="
        )
    if first.exists() and not policy.exists():
        raise BadInput(f"{policy}: missing, though a round has begun; put it back, or give another out")
    write_configuration(settings, out)
    if policy.exists():
        return
    if given is None:
        console.print("making a policy to correct: a clone of the champion's games", highlight=False)
        given = _clone(out / CLONE, settings.seed, f"dataset={CHAMPION}")
    write_atomic(policy, given.read_bytes())


def _round(settings: CoachSettings, out: Path, number: int, console: Console) -> None:
    folder, policy = out / f"round-{number}", out / POLICY
    folder.mkdir(exist_ok=True)
    before = folder / BEFORE
    if not before.exists():
        write_atomic(before, policy.read_bytes())
    console.rule(f"round {number}")
    begun = (folder / CLONED / POLICY).exists() or (folder / LEARNED).exists()  # after play that may have ended early
    games = folder / "games"
    if not begun:
        record_round(settings, before, games, number, console)
        if not is_corrected(games):
            raise BadInput(
                f"{games}: nobody corrected the policy, so there is nothing to learn; the same command plays on"
            )
    after = _learn(settings, before, folder, number)
    figures, games_of_both = {}, EvaluationSettings(episodes=settings.games, seed=settings.seed, greedy=False)
    with progress_bar("games", console) as bar:
        task = bar.add_task("measuring", total=2 * settings.games)
        for name, path in (("before", before), ("after", after)):
            evaluation = evaluate(load_policy(path), games_of_both, progress=lambda _: bar.advance(task))
            figures[name] = {**evaluation.summary(), "policy": path.name}
    verdict = gain(figures["before"], figures["after"])
    ranks = {name: (success(one), *pace(one)) for name, one in figures.items()}
    better = ranks["after"] > ranks["before"]
    if better:
        write_atomic(policy, after.read_bytes())
    else:
        verdict += "; the policy before stays"
    result = {"round": number, "better": better, "verdict": verdict, **figures}
    write_atomic(folder / RESULT, json.dumps(result, indent=1, allow_nan=False) + "\n")
    console.print(f"round {number}: {verdict}\npolicy: {policy}")


def record_round(settings: CoachSettings, policy: Path, folder: Path, number: int, console: Console) -> None:
    """Record the games of a round into a dataset. The minutes that an interrupted round recorded count, unless nobody
    corrected anything in them."""
    spec = load_policy(policy).environment
    env = spec.make()
    fps = decisions_a_second(env)
    env.close()
    for note in record_interrupted(folder):
        console.print(note)
    seconds = settings.minutes * 60

    def is_over(episode: Episode) -> bool:
        """Count an episode; true once all seconds are played."""
        nonlocal seconds
        seconds -= seconds_of(episode, fps)
        return seconds <= 0

    if is_corrected(folder):
        for episode in _episodes(folder):
            is_over(episode)
    if seconds > 0:
        seed = settings.seed + number
        page: dict[str, Any] = {"policy": str(policy), "player": settings.player, "seed": seed, "open": settings.open}
        qwop = spec.capabilities.keys
        own = RecorderPageSettings(**page) if qwop else EnvironmentPageSettings(**page, id=spec.id)
        source = open_source(own, folder)
        writer = DatasetWriter(folder, source.info)
        console.print(
            f"correct the policy for {seconds / 60:.3g} minutes of play: press a key where it goes wrong; "
            "it learns afterwards. Ctrl-C ends the play early"
        )
        record(source, GameWriter(writer, is_over), console)
    if _episodes(folder):
        console.print(describe(folder).table(f"{folder}"))


def seconds_of(episode: Episode, fps: float) -> float:
    """Seconds of play that no other episode has. fps: decisions a second where the game has no clock."""
    if episode.keys is None:
        return (len(episode) - episode.first_own) / fps
    times = episode.times
    return 0.0 if times is None else float(times[-1] - times[episode.first_own])


def is_corrected(folder: Path) -> bool:
    """True if a person acted in any decision of a dataset, which may not be there yet."""
    return any(corrected(episode).any() for episode in _episodes(folder))


def _episodes(folder: Path) -> Sequence[Episode]:
    """The episodes of a dataset; none before its first is there."""
    return open_dataset(folder) if folder.is_dir() and next_number(folder) else ()


def _learn(settings: CoachSettings, before: Path, folder: Path, number: int) -> Path:
    """Fine-tune the policy on the round's corrections; continue an interrupted run."""
    out, games, start, seed = folder / LEARNED, folder / "games", before, settings.seed + number
    if settings.clone:  # the person's decisions alone
        start = _clone(folder / CLONED, seed, f"policy={before}", f"dataset={games}", "policy_weight=0")
    learning: dict[str, object] = {
        "schedule": "corrections", "policy": start, "demonstrations": games, "out": out, "seed": seed,
        "video": "false",
    }  # fmt: skip
    if not load_policy(before).environment.capabilities.keys:
        learning |= CORRECTED_ELSEWHERE
    if settings.decisions is not None:
        learning["schedule.decisions"] = settings.decisions
    words = [f"{name}={value}" for name, value in learning.items()]
    if any((out / "checkpoints").glob("*")):
        words.append("resume=true")
    else:
        shutil.rmtree(out, ignore_errors=True)  # begun, without a checkpoint to continue from
    finetune.run(finetune.read(words))
    return out / POLICY


def _clone(clone: Path, seed: int, *words: str) -> Path:
    """The policy of a clone, which is made with these settings unless it is there."""
    if not (clone / MEASURES).exists():
        shutil.rmtree(clone, ignore_errors=True)
        pretrain.run(pretrain.read([*words, f"out={clone}", f"seed={seed}", "games=0", "tracker=none"]))
    return clone / POLICY
