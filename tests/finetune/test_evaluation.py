"""Evaluations of a run, from its start to its end, also where one is interrupted or fails."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.settings import to_plain
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.finetune import evaluation
from qwop.finetune.evaluation import LIKENESS, Evaluations
from qwop.finetune.figures import gain
from qwop.finetune.schedules.phase import Phase
from qwop.finetune.settings import PhaseEvaluationSettings
from qwop.policies.policy import Policy

from ..fakes import untrained
from .fakes import CARTPOLE, write_games

ONLY = Phase("only", 1.0)


@pytest.fixture
def policy() -> Policy:
    return untrained(CARTPOLE, seed=0)


def made(folder: Path, episodes: int, drawn: int, *more: Any) -> Evaluations:
    """Evaluations of so many greedy and drawn games."""
    return Evaluations(folder, PhaseEvaluationSettings(episodes=episodes, drawn=drawn), *more)


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / "phases" / f"{name}.json").read_text())


@pytest.mark.parametrize("part", ["q_head", "policy_head", "trunk", "scaler", "nothing"])
def test_a_policy_plays_again_only_if_it_decides_otherwise(
    part: str, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[bool | None] = []

    def counted(policy: Policy, settings: EvaluationSettings) -> Any:
        played.append(settings.greedy)
        return evaluate(policy, settings)

    monkeypatch.setattr(evaluation, "evaluate", counted)
    results = made(tmp_path, 2, 2)
    results.add_start(policy)
    assert played == [True, False]
    with torch.no_grad():
        for name, weights in policy.network.state_dict().items():
            if name.startswith(part):
                weights.add_(1.0)
    results.add(0, ONLY, policy, 80)
    same = part in ("q_head", "nothing")
    assert played[2:] == ([] if same else [True, False])
    start, after = read(tmp_path, "0-start"), read(tmp_path, "1-only")
    assert not same or (start["games"], start["drawn"]) == (after["games"], after["drawn"])


def test_start_and_phases_are_evaluated_greedily_and_drawn_and_compared_with_the_player(
    tmp_path: Path, policy: Policy
) -> None:
    dataset = write_games(tmp_path / "demos", CARTPOLE, [30, 10])
    results = made(tmp_path, 4, 3, dataset)
    results.add_start(policy)
    assert results.ends is None  # nothing to compare it with yet
    results.add(0, ONLY, policy, decisions=500)
    start, only = read(tmp_path, "0-start"), read(tmp_path, "1-only")
    assert (start["phase"], start["episodes"], start["drawn"]["episodes"]) == ("start", 4, 3)
    assert only["settings"] == to_plain(PhaseEvaluationSettings(episodes=4, drawn=3))  # without a line's words
    best = policy.probabilities(np.concatenate([one.observations[:-1] for one in dataset])).argmax(-1)
    expected = np.mean(best == np.concatenate([one.actions for one in dataset]))
    assert start[LIKENESS] == only[LIKENESS] == pytest.approx(expected)
    again = made(tmp_path, 4, 0)  # a resumed run has its start from the file
    again.add(1, Phase("more", 1.0), policy, decisions=900)
    assert again.ends is not None
    assert gain(*again.ends) == f"mean return {start['mean_return']:.1f} → {start['mean_return']:.1f}"


@pytest.mark.parametrize("name", ["walk", "walk/run", "/../../walk", "..", "walk\nrun", "後" * 200])
def test_without_games_policies_are_kept_and_phases_of_any_name_have_their_files_with_the_others(
    tmp_path: Path, policy: Policy, name: str
) -> None:
    results = made(tmp_path / "run", 0, 3)
    results.add_start(policy)
    results.add(0, Phase(name, 1.0), policy, decisions=500)
    (path,) = (path for path in (tmp_path / "run" / "phases").rglob("*") if path.is_file())
    assert [*tmp_path.rglob("*.safetensors")] == [path]
    assert path.parent == tmp_path / "run" / "phases"
    assert path.name.startswith("1-")
    assert path.name.isprintable()
