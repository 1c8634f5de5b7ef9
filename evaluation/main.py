"""`qwop-evaluate`: plays a policy's games, or those of a file of keys, and reports."""

import json
import os
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from ..common.command import command, open_run_folder, settings
from ..common.errors import BadInput
from ..common.progress import progress_bar
from ..envs.original.page import PageSettings
from ..envs.qwop.keys_file import read_keys
from ..envs.spec import EnvironmentSpec
from ..policies.champion import keys_path
from ..policies.files import load_policy
from ..policies.rollout import Game
from .agreement import Agreement, agreement_json, compare
from .evaluate import Evaluation, EvaluationSettings, evaluate
from .film import film, film_keys, save_keys
from .keys_game import in_original, in_simulator

SIMULATOR, ORIGINAL = WORLDS = ("simulator", "original")


@dataclass(frozen=True)
class Command:
    """The settings of conf/evaluate.yaml."""

    policy: str | None = None
    keys: str | None = None
    out: str | None = None
    episodes: int = 100
    seed: int = 0
    max_idle_frames: int = 30
    greedy: bool = True
    num_envs: int = 64
    world: str = SIMULATOR
    original: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    video: bool = True


def run(config: DictConfig) -> None:
    """Play, print a table, and write evaluation.json, the best game's keys and its film into `out`."""
    chosen = _checked(settings(Command, config, "evaluate"))
    page = settings(PageSettings, config.original, "original")
    if chosen.keys is not None:
        _run_keys(chosen.keys, chosen, page, config)
        return
    assert chosen.policy is not None
    torch.set_num_threads(1)  # for a network this small, threads wait for each other longer than they compute
    policy = load_policy(chosen.policy)
    spec = _environment(policy.environment, chosen, page)
    in_original = chosen.world == ORIGINAL
    num_envs = 1 if in_original else chosen.num_envs  # one browser
    agreements: list[Agreement] = []

    def heard(game: Game) -> None:
        if in_original:
            agreements.append(compare(game, spec.settings))

    console = Console()
    asked = EvaluationSettings(chosen.episodes, chosen.seed, chosen.max_idle_frames, chosen.greedy, num_envs)
    with progress_bar("games", console) as bar:
        task = bar.add_task("playing", total=asked.episodes)
        evaluation = evaluate(policy, asked, spec, lambda done: bar.update(task, completed=done), heard)
    out = open_run_folder(config, Path(chosen.out or _default_folder(chosen.policy, "evaluation", chosen.world)))
    more = {"simulator": agreement_json(agreements)} if in_original else {}
    document = {"policy": chosen.policy, "world": chosen.world, **evaluation.to_json(), **more}
    write_report(out / "evaluation.json", document)
    shown = table(evaluation, chosen.policy)
    if in_original:
        same = sum(game.agrees for game in agreements)
        shown.add_row("same in the simulator", f"{same} of {len(agreements)}, by their keys")
    console.print(shown)
    console.print(f"report: {out / 'evaluation.json'}", highlight=False, soft_wrap=True)
    _write_best(out, evaluation, console, chosen.video)


def write_report(path: Path, document: dict[str, Any]) -> None:
    """evaluation.json, whole or not at all."""
    document = {**document, "software": f"qwop {version('qwop')}"}
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    beside.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    beside.replace(path)


def table(evaluation: Evaluation, title: str) -> Table:
    """The figures for a person."""
    figures = evaluation.summary()
    asked = evaluation.settings
    shown = Table(title=title, title_justify="left", show_header=False)
    shown.add_row("environment", str(evaluation.environment))
    shown.add_row("games", f"{figures['episodes']}, {'greedy' if asked.greedy else 'sampled'}, seed {asked.seed}")
    if evaluation.has_metres:
        shown.add_row("finished", f"{figures['finishes']} of {figures['episodes']}")
        shown.add_row("best time", _told(figures, "best_seconds", "s"))
        shown.add_row("median time", _told(figures, "median_seconds", "s"))
        shown.add_row("mean time", _told(figures, "mean_seconds", "s"))
        shown.add_row("mean distance", _told(figures, "mean_metres", "m"))
        shown.add_row("best distance", _told(figures, "best_metres", "m"))
    shown.add_row("mean return", _told(figures, "mean_return", ""))
    shown.add_row("best return", _told(figures, "best_return", ""))
    return shown


def _told(figures: dict[str, Any], name: str, unit: str) -> str:
    if figures[name] is None:
        return "none finished"
    interval = figures.get(f"{name}_interval")
    between = f" (95 %: {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return f"{figures[name]:.2f} {unit}".rstrip() + between


def _checked(chosen: Command) -> Command:
    if chosen.policy and chosen.keys:
        raise BadInput(f"policy={chosen.policy} and keys={chosen.keys}: expected one of them")
    if not chosen.policy and not chosen.keys:
        raise BadInput("policy is not set: name a policy file, such as policy=runs/finetune/policy.safetensors")
    for name, least in (("episodes", 1), ("seed", 0), ("max_idle_frames", 0), ("num_envs", 1)):
        if getattr(chosen, name) < least:
            raise BadInput(f"{name}={getattr(chosen, name)}: expected at least {least}")
    if chosen.world not in WORLDS:
        raise BadInput(f"world={chosen.world}: expected one of {', '.join(WORLDS)}")
    return chosen


def _environment(own: EnvironmentSpec, chosen: Command, page: PageSettings) -> EnvironmentSpec:
    """The policy's environment with the settings asked for, in the world asked for."""
    task = {**own.settings, **chosen.environment}
    if chosen.world != ORIGINAL:
        return EnvironmentSpec(own.id, task)
    original = own.capabilities.original
    if original is None:
        raise BadInput(
            f"world=original: {chosen.policy} plays {own.id}; only a policy of QWOP-v1 can play the original"
        )
    page.require_possible("original.")
    return EnvironmentSpec(original, {**task, **page.given()})


def _default_folder(name: str, kind: str, world: str) -> Path:
    """Beside the policy or the keys, named after them; the champion's is here."""
    path = Path(name)
    return path.with_name(f"{path.stem}-{kind}" + ("-original" if world == ORIGINAL else ""))


def _run_keys(name: str, chosen: Command, page: PageSettings, config: DictConfig) -> None:
    """Play a file of keys, print how it went, and write evaluation.json and its film into `out`."""
    keys = read_keys(keys_path(name))
    console = Console()
    game = here = in_simulator(keys)
    document: dict[str, Any] = {"keys": name, "world": chosen.world}
    shown = Table(title=name, title_justify="left", show_header=False)
    if chosen.world == ORIGINAL:
        page.require_possible("original.")
        with console.status("the original's page"):
            game = in_original(keys, page)
        document["simulator"] = {**here.to_json(), "same": game.same_as(here)}
    for what, said in (
        ("outcome", game.outcome), ("time", f"{game.seconds:.2f} s"), ("score", f"{game.metres:.1f} m"),
        ("frames", f"{game.frames} of {len(keys)}"),
    ):  # fmt: skip
        shown.add_row(what, said)
    if chosen.world == ORIGINAL:
        shown.add_row("same in the simulator", "yes, to the last bit" if game.same_as(here) else "no")
    out = open_run_folder(config, Path(chosen.out or _default_folder(name, "replay", chosen.world)))
    write_report(out / "evaluation.json", {**document, **game.to_json()})
    console.print(shown)
    console.print(f"report: {out / 'evaluation.json'}", highlight=False, soft_wrap=True)
    if chosen.video:
        with progress_bar("pictures", console) as bar:
            task = bar.add_task("film", total=None)
            film_keys(out / "best.mp4", keys, lambda done, of: bar.update(task, completed=done, total=of))
        console.print(f"film: {out / 'best.mp4'}", highlight=False, soft_wrap=True)


def _write_best(out: Path, evaluation: Evaluation, console: Console, video: bool) -> None:
    best = evaluation.best
    if best.keys is not None:
        keys = save_keys(out / "best_keys.txt", best)
        console.print(
            f"keys of the best game, number {best.index}: {keys} (qwop-evaluate keys=… plays it again)",
            highlight=False,
            soft_wrap=True,
        )
    if not video:
        return
    with progress_bar("pictures", console) as bar:
        task = bar.add_task("film of the best game", total=None)
        path = out / "best.mp4"
        why_not = film(path, best, evaluation.environment, lambda done, of: bar.update(task, completed=done, total=of))
    console.print(f"no film: {why_not}" if why_not else f"film: {path}", highlight=False, soft_wrap=True)


main = command("evaluate", run)
