"""Evaluations of a run, from its start to its end."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.finetune.evaluation import LIKENESS, Evaluations
from qwop.finetune.figures import gain
from qwop.finetune.log import RunLog
from qwop.finetune.report import write_report
from qwop.finetune.schedules.phase import Phase
from qwop.finetune.settings import PhaseEvaluationSettings
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


@pytest.mark.parametrize("part", ["q_head", "policy_head", "trunk", "scaler", "nothing"])
def test_a_policy_plays_again_only_if_it_decides_otherwise(
    part: str, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[bool | None] = []

    def counted(policy: Policy, settings: EvaluationSettings) -> Any:
        played.append(settings.greedy)
        return evaluate(policy, settings)

    monkeypatch.setattr("qwop.finetune.evaluation.evaluate", counted)
    results = made(tmp_path, 2, 2)
    results.add_start(policy)
    assert played == [True, False]
    with torch.no_grad():
        for name, weights in policy.network.state_dict().items():
            if name.startswith(part):
                weights.add_(1.0)
    results.add(0, Phase("values", 1), policy, 80)
    assert played[2:] == ([] if part in ("q_head", "nothing") else [True, False])
    start, after = (json.loads((tmp_path / "phases" / name).read_text()) for name in ("0-start.json", "1-values.json"))
    assert start.keys() <= after.keys()
    if part == "q_head":
        assert (start["games"], start["drawn"]) == (after["games"], after["drawn"])


def test_a_phase_that_lost_what_the_policy_could_do_says_so_at_once_and_in_the_report(
    tmp_path: Path, policy: Policy
) -> None:
    results = made(tmp_path, 2, 0)
    results.add_start(policy)
    start = tmp_path / "phases" / "0-start.json"
    told = json.loads(start.read_text()) | {"mean_return": 900.0, "mean_return_interval": [800.0, 1000.0]}
    start.write_text(json.dumps(told))
    said = results.add(0, Phase("alone", 1), policy, 80)
    assert "\nwarning: clearly worse than 0-start (mean return 900.0" in said
    assert said.endswith("; schedule.keep=best leaves the best policy in the end")
    assert json.loads((tmp_path / "phases" / "1-alone.json").read_text())["worse_than"] == "0-start"
    assert "1-alone (clearly worse than 0-start)" in write_report(tmp_path, "a run").read_text()
    again = results.add(1, Phase("later", 1), policy, 160)
    assert "than 0-start" in again


def test_a_clone_played_with_sharper_probabilities_than_those_that_learn_is_not_lost(
    tmp_path: Path, policy: Policy
) -> None:
    results = made(tmp_path, 2, 0)
    said = results.add_start(replace(policy, sharpness=5.0))
    assert "\nnote: the start draws from sharpened probabilities (to the power of 5); training begins from" in str(said)
    start = tmp_path / "phases" / "0-start.json"
    told = json.loads(start.read_text()) | {"mean_return": 900.0, "mean_return_interval": [800.0, 1000.0]}
    start.write_text(json.dumps(told))
    assert "worse" not in results.add(0, Phase("values", 1), policy, 80)


@pytest.fixture
def policy() -> Policy:
    network = ActorCritic(4, 2, (8,), torch.Generator().manual_seed(0))
    return Policy(network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))


def made(folder: Path, episodes: int, drawn: int, *more: Any) -> Evaluations:
    """Evaluations of so many greedy and drawn games, and their open log."""
    log = RunLog(folder)
    log.open()
    return Evaluations(folder, PhaseEvaluationSettings(episodes=episodes, drawn=drawn), log, *more)


def ends(results: Evaluations) -> tuple[Any, Any]:
    assert results.ends is not None
    return results.ends


def test_start_and_phases_are_evaluated_greedily_and_drawn_and_shown_on_tensorboard(
    tmp_path: Path, policy: Policy
) -> None:
    results = made(tmp_path, 4, 3)
    assert results.last is None
    assert results.ends is None
    said = results.add_start(policy)
    assert said is not None
    assert said.startswith("start: mean return ")
    assert "; drawn: mean return " in said
    assert results.ends is None  # nothing to compare it with yet
    results.add(0, Phase("only", 1.0), policy, decisions=500)
    results._log.close()
    start, only = (json.loads((tmp_path / "phases" / f"{name}.json").read_text()) for name in ("0-start", "1-only"))
    assert (start["phase"], start["episodes"], start["drawn"]["episodes"]) == ("start", 4, 3)
    assert start["mean_return"] == only["mean_return"]
    shown = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    for kind, found in (("greedy", only), ("drawn", only["drawn"])):
        points = shown.Scalars(f"evaluation/{kind}_mean_return")
        assert [point.step for point in points] == [0, 500]
        assert points[1].value == pytest.approx(found["mean_return"])
    # A resumed run has its start from the file.
    again = made(tmp_path, 4, 0)
    again.add(1, Phase("more", 1.0), policy, decisions=900)
    assert gain(*ends(again)) == f"mean return {start['mean_return']:.1f} → {start['mean_return']:.1f}"


def test_a_policy_is_as_like_the_player_as_its_most_probable_actions(
    tmp_path: Path, policy: Policy, make_episode: Callable[..., Episode]
) -> None:
    writer = DatasetWriter(tmp_path / "demos", DatasetInfo(policy.environment, policy.observation, policy.actions))
    for length in (30, 10):
        writer.write(make_episode(length, actions=policy.actions, shape=policy.observation.shape))
    dataset = open_dataset(tmp_path / "demos")
    observations = np.concatenate([one.observations[:-1] for one in dataset])
    actions = np.concatenate([one.actions for one in dataset])
    results = made(tmp_path, 1, 0, dataset)
    results.add_start(policy)
    with torch.no_grad():
        best = policy.network.logits(torch.from_numpy(observations)).argmax(-1).numpy()
    assert len(actions) == 40
    figures = json.loads((tmp_path / "phases/0-start.json").read_text())
    assert figures[LIKENESS] == pytest.approx(np.mean(best == actions))


def test_without_games_only_policies_are_kept(tmp_path: Path, policy: Policy) -> None:
    results = made(tmp_path, 0, 3)
    assert results.add_start(policy) is None
    results.add(0, Phase("only", 1.0), policy, decisions=500)
    assert [path.name for path in (tmp_path / "phases").iterdir()] == ["1-only.safetensors"]
    assert results.last is None


@pytest.mark.parametrize("name", ["walk/run", "/../../walk", "..", "walk\nrun", "後" * 200])
def test_a_phase_of_any_name_has_its_files_with_the_others(tmp_path: Path, policy: Policy, name: str) -> None:
    results = made(tmp_path / "run", 0, 3)
    results.add(0, Phase(name, 1.0), policy, decisions=500)
    (path,) = (path for path in tmp_path.rglob("*.safetensors"))
    assert path.parent == tmp_path / "run" / "phases"
    assert path.name.startswith("1-")
    assert path.name.isprintable()


def test_evaluations_within_a_phase_have_names_of_their_own_and_are_forgotten_when_a_run_goes_back(
    tmp_path: Path, policy: Policy
) -> None:
    results = made(tmp_path, 1, 0)
    results.add_start(policy)
    for decisions, within in ((200, True), (400, True), (500, False)):
        results.add(0, Phase("only", 1.0), policy, decisions, within=within)
    results.forget_after(200)
    assert sorted(path.name for path in (tmp_path / "phases").iterdir()) == [
        "0-start.json", "1-only-200.json", "1-only-200.safetensors",
    ]  # fmt: skip


def test_a_kept_policy_takes_the_place_of_the_last_one_and_plays_drawn_games(tmp_path: Path, policy: Policy) -> None:
    results = made(tmp_path, 1, 2)
    results.add_start(policy)
    results.add(0, Phase("only", 1.0), policy, 200, within=True)
    path = tmp_path / "phases" / "1-only-200.json"
    assert "drawn" not in json.loads(path.read_text())
    with torch.no_grad():
        policy.network.policy_head.bias += torch.tensor([100.0, 0.0])  # another policy: it always goes to the left
    results.add(0, Phase("only", 1.0), policy, 500)
    last = results.last
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mean_return": 999.0}))  # the best
    assert results.keep_best(tmp_path / "start.safetensors").evaluation == path
    assert json.loads(path.read_text())["drawn"]["episodes"] == 2
    assert results.last != last
    assert results.last is not None
    assert results.last["mean_return"] == 999.0
    assert "→ 999.0; drawn" in gain(*ends(results))
