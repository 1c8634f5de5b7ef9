"""`qwop-evaluate`: play a policy's games, or a file of keys, and report."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..common.errors import BadInput, naming
from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import REPORT, command_line, next_command, require_no_other_run, to_yaml, write_configuration
from ..envs.engine.interface import TRIGONOMETRIES
from ..envs.qwop.keys_file import read_keys
from ..envs.spec import EnvironmentSpec
from ..policies.champion import keys_path
from ..policies.devices import use_one_thread
from ..policies.files import load_policy
from ..policies.rollout import Game
from .commands import ORIGINAL, SIMULATOR, EvaluateSettings
from .evaluate import LONGEST_ROLLING, Evaluation, evaluate, games_of
from .film import film, film_keys, save_keys
from .keys_game import Agreement, agreement_in_words, compare, in_original, in_simulator, most_alike
from .report import evaluation_page, figure, keys_page, table
from .settings import DRAWN

FIGURES, KEYS, FILM = WRITES = ("evaluation.json", "best_keys.txt", "best.mp4")
"""Files of figures, the best game's keys and its film, in the folder."""


def run(settings: EvaluateSettings) -> None:
    """Play, print a table, and write evaluation.json, report.html, the best game's keys and its film into `out`."""
    with exclusive_lock(Path(settings.folder), "out"):
        require_no_other_run(Path(settings.folder), EvaluateSettings, WRITES)
        if settings.keys is not None:
            _run_keys(settings.keys, settings)
        else:
            _run_policy(settings)


def _run_policy(settings: EvaluateSettings) -> None:
    """Play a policy's games, print a table, and write all files."""
    assert settings.policy is not None
    use_one_thread()
    policy = load_policy(settings.policy, overrides=settings.environment.keys())
    spec = _environment(policy.environment, settings)
    in_original = settings.world == ORIGINAL
    games = settings.games.playing(policy.greedy)
    if in_original:
        games = games.with_(num_envs=1)  # one browser
    agreements: list[Agreement] = []

    def compare_if_original(game: Game) -> None:
        if in_original:
            agreements.append(compare(game, spec.settings))

    console = plain_console()
    for note in spec.limit_note:
        console.print(note)
    with naming(settings.policy), progress_bar("games", console) as bar:
        task = bar.add_task("playing", total=games_of(games, spec))
        evaluation = evaluate(policy, games, spec, lambda count: bar.update(task, completed=count), compare_if_original)
        late = None
        if _delays(settings, spec):
            task = bar.add_task("playing with late decisions", total=games.episodes or DRAWN)
            late_spec = EnvironmentSpec(spec.id, {**spec.settings, "delay": settings.late})
            rolling = games.with_(max_idle_frames=LONGEST_ROLLING, episodes=games.episodes or DRAWN)
            late = evaluate(policy, rolling, late_spec, lambda count: bar.update(task, completed=count))
    out = write_configuration(settings, Path(settings.folder))
    (out / FILM).unlink(missing_ok=True)  # of an earlier evaluation
    more: dict[str, Any] = {}
    if in_original:
        same = sum(game.agrees for game in agreements)
        more["simulator"] = {"agreeing": same, "games": [game.to_json() for game in agreements]}
    if late is not None:
        more["late"] = {"share": settings.late, **late.to_json()}
    document = {"policy": settings.policy, "world": settings.world, **evaluation.to_json(), **more}
    write_report(out / FIGURES, document)
    console.print(table(evaluation, settings.policy))
    if in_original:
        console.print(agreement_in_words(agreements))
    if late is not None:
        figures = late.summary()
        console.print(
            f"{settings.late:.0%} of the decisions one frame late, rolling starts: finished {figures['finishes']} of "
            f"{figures['episodes']}, median {figure(figures, 'median_seconds', 's')}"
        )
    film = _write_best(out, evaluation, console, settings.video)
    page = evaluation_page(evaluation, settings.policy, *_origin(settings), late=late, film=film)
    _print_report(write_atomic(out / REPORT, page), console)
    if settings.video and film is None:  # nor could it be watched
        console.print(next_command("qwop-record", source="policy", **{"source.policy": settings.policy}))
    else:
        console.print(next_command("qwop-watch", policy=settings.policy))


def _delays(settings: EvaluateSettings, spec: EnvironmentSpec) -> bool:
    """True if the policy is also evaluated with late decisions: in environments with delays, unless it already has
    some."""
    able = spec.capabilities
    return settings.late > 0 and settings.world == SIMULATOR and able.idle_start and able.deterministic


def _origin(settings: EvaluateSettings) -> tuple[str, str]:
    """The command line that repeats this evaluation, and all settings."""
    return command_line("qwop-evaluate", settings.words), to_yaml(settings)


def _print_report(page: Path, console: Console) -> None:
    console.print(f"report: {page}, figures: {page.with_name('evaluation.json')}")


def write_report(path: Path, document: dict[str, object]) -> None:
    """Write evaluation.json, whole or not at all."""
    document = {**document, "software": f"qwop {version('qwop')}"}
    write_atomic(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _environment(own: EnvironmentSpec, settings: EvaluateSettings) -> EnvironmentSpec:
    """The policy's environment with these settings, in their world."""
    task = {**own.settings, **settings.environment}
    if settings.world != ORIGINAL:
        return EnvironmentSpec(own.id, task)
    original = own.capabilities.original
    if original is None:
        raise BadInput(
            f"world=original: {settings.policy} plays {own.id}; only a policy of QWOP-v1 can play the original"
        )
    settings.original.require_possible("original.")
    return EnvironmentSpec(original, {**task, **settings.original.model_dump(exclude_defaults=True)})


def _run_keys(name: str, settings: EvaluateSettings) -> None:
    """Play a file of keys, print the result, and write evaluation.json, report.html and its film into `out`."""
    keys = read_keys(keys_path(name))
    console = plain_console()
    document: dict[str, Any] = {"keys": name, "world": settings.world}
    if settings.world == ORIGINAL:
        settings.original.require_possible("original.")
        with console.status("the original's page"):
            game = in_original(keys, settings.original)
        here = most_alike(game, keys)
        document["simulator"] = {**here.to_json(), "same": game.same_as(here), "trigonometry": here.trigonometry}
    else:
        game = here = in_simulator(keys)
    rows = [
        ("outcome", game.outcome), ("time", f"{game.seconds:.2f} s"), ("score", f"{game.metres:.1f} m"),
        ("frames", f"{game.frames} of {len(keys)}"),
    ]  # fmt: skip
    if settings.world == ORIGINAL:
        with_other = "" if here.trigonometry == TRIGONOMETRIES[0] else f", by {here.trigonometry}'s sine and cosine"
        rows.append(("same in the simulator", f"yes, to the last bit{with_other}" if game.same_as(here) else "no"))
    facts = Table(title=name, title_justify="left", show_header=False)
    for row in rows:
        facts.add_row(*row)
    digest = ("SHA-256 of all states", game.replay.sha256)
    out = write_configuration(settings, Path(settings.folder))
    (out / FILM).unlink(missing_ok=True)  # of an earlier evaluation
    write_report(out / FIGURES, {**document, **game.to_json()})
    console.print(facts)
    console.print(": ".join(digest))  # whole, however narrow the terminal is
    _print_report(write_atomic(out / REPORT, keys_page(game, name, [*rows, digest], *_origin(settings))), console)
    if settings.video:
        with progress_bar("pictures", console) as bar:
            task = bar.add_task("film", total=None)
            film_keys(out / FILM, keys, lambda count, of: bar.update(task, completed=count, total=of))
        console.print(f"film: {out / 'best.mp4'}")
    console.print(next_command("qwop-watch", keys=name))


def _write_best(out: Path, evaluation: Evaluation, console: Console, video: bool) -> Path | None:
    """Write the best game's keys and its film; returns the film's path, or None without a film."""
    best = evaluation.best
    if best.keys is not None:
        keys = save_keys(out / KEYS, best)
        console.print(f"keys of the best game, number {best.index}: {keys} (qwop-evaluate keys=… plays it again)")
    if not video:
        return None
    with progress_bar("pictures", console) as bar:
        task = bar.add_task("film of the best game", total=None)
        path, spec = out / FILM, evaluation.environment
        why_not = film(path, best, spec, lambda count, of: bar.update(task, completed=count, total=of))
    console.print(f"no film: {why_not}" if why_not else f"film: {path}")
    return None if why_not else path
