"""Choice of the decision rate at which a person's games are cloned."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.commands import pretrain as main
from qwop.datasets import DatasetInfo
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.reader import Dataset, open_dataset
from qwop.evaluation.evaluate import Evaluation
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.pretrain import rate_search
from qwop.pretrain.main import run
from qwop.pretrain.rate_search import Trial, best, games_for_scaling, rates_to_try, runs_greedily
from qwop.pretrain.settings import CloningSettings, PretrainSettings

from ..fakes import dataset_of, game_of


def games_of_a_beginner(folder: Path, count: int = 4) -> Dataset:
    """Games of a person who alternates Q with P and W with O, and falls."""
    info = qwop_info(frames_per_step=3, reward="shaped")
    keys = (([0] * (3 + game) + [9] * 11 + [6] * (9 + game)) * 12 for game in range(count))
    return dataset_of(folder, info, *(game_of(one, info) for one in keys))


class Figures:
    """Games with these figures, in place of an evaluation."""

    def __init__(self, finishes: int, metres: float) -> None:
        self._figures = {"finishes": finishes, "episodes": 30, "mean_metres": metres}

    def summary(self) -> dict[str, float]:
        return self._figures


def trial(
    frames: int, greedy: tuple[int, float], chance: tuple[int, float], sharp: tuple[int, float] = (0, 0.0)
) -> Trial:
    games = Figures(*greedy), Figures(*chance), Figures(*sharp)
    return Trial(frames, None, load_policy("champion"), games)  # type: ignore[arg-type]


def test_the_clone_that_finishes_most_games_in_any_way_is_kept() -> None:
    tried = [trial(1, (0, 3.0), (12, 70.0)), trial(2, (20, 80.0), (0, 12.0)), trial(3, (0, 21.0), (0, 8.0))]
    assert best(tried).frames_per_step == 2
    assert best([*tried, trial(3, (0, 21.0), (0, 8.0), (21, 82.0))]).frames_per_step == 3
    assert best([trial(3, (0, 4.0), (0, 2.0)), trial(1, (0, 0.3), (0, 0.2))]).frames_per_step == 1  # all fall
    assert str(tried[1]) == "15 a second: 20 of 30 greedy, 0 of 30 drawn, 0 of 30 sharpened (80.0, 12.0, 0.0 m)"


def test_a_clone_is_sharpened_where_it_finishes_more_games_so() -> None:
    def marked(*played: tuple[int, float]) -> tuple[float, bool]:
        policy = trial(1, *played).policy
        return policy.sharpness, policy.greedy

    assert marked((0, 3.0), (12, 70.0), (13, 60.0)) == (5.0, False)
    assert marked((13, 3.0), (12, 70.0), (13, 60.0)) == (5.0, True)
    assert marked((0, 3.0), (12, 70.0), (12, 80.0)) == (1.0, True)


def test_clones_and_the_games_of_trials_have_seeds_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else clones of the same games would be alike, and the best one chosen by the games that it is measured in."""
    seeds: list[int] = []

    def noted(games: Dataset, info: DatasetInfo, cloning: CloningSettings, seed: int, **more: Any) -> Policy:
        seeds.append(seed)
        return load_policy("champion")

    monkeypatch.setattr(rate_search, "clone", noted)
    monkeypatch.setattr(rate_search, "evaluate", lambda policy, how: how)
    settings = PretrainSettings(seed=7, max_idle_frames=12)
    dataset, cpu = games_of_a_beginner(tmp_path / "me", 1), torch.device("cpu")
    trials = [rate_search.try_clone(dataset, 3, number, settings, cpu) for number in range(2)]
    games: list[EvaluationSettings] = list(trials[0].games)  # type: ignore[arg-type]
    assert len({*seeds, games[0].seed, settings.seed}) == 3
    assert seeds[0] == settings.seed
    assert {one.max_idle_frames for one in games} == {12}
    assert [one.greedy for one in games] == [True, False, False]


@pytest.mark.parametrize(
    ("greedy", "drawn", "sharpness", "runs"),
    [
        ((0, 3.0), (12, 70.0), 1.0, False),
        ((20, 80.0), (0, 12.0), 1.0, True),
        ((9, 50), (15, 60), 1.0, True),
        ((9, 50), (16, 60), 1.0, False),
        ((0, 1), (0, 2), 1.0, True),
        ((9, 50), (10, 60), 5.0, False),
        ((9, 50), (9, 60), 5.0, True),
    ],
)
def test_a_clone_that_runs_clearly_better_drawn_is_played_so_and_a_sharpened_one_that_runs_better(
    greedy: tuple[int, float], drawn: tuple[int, float], sharpness: float, runs: bool
) -> None:
    games: list[Evaluation] = [Figures(*greedy), Figures(*drawn)]  # type: ignore[list-item]
    policy = replace(load_policy("champion"), sharpness=sharpness, greedy=runs)
    assert runs_greedily(games, policy) is runs
    assert runs_greedily([], policy) is runs  # not measured: as its trial says


def test_games_of_a_person_are_cloned_at_several_rates_and_scaled_with_games_that_finish(tmp_path: Path) -> None:
    embedded = open_dataset(embedded_dataset()).select([0, 1])  # a policy's
    assert rates_to_try(embedded, (1, 2, 3)) == ()
    assert games_for_scaling(embedded) == []
    mine = games_of_a_beginner(tmp_path / "me")
    assert rates_to_try(mine, (1, 2, 2)) == (1, 2)
    assert rates_to_try(mine, None) == ()
    more = games_for_scaling(mine)
    assert more[0].observations.shape[1] == 71
    assert max(episode.metres for episode in more) > 99


@pytest.mark.slow
def test_a_beginner_is_told_where_the_games_end_and_what_to_run_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games_of_a_beginner(tmp_path / "me")
    out = tmp_path / "clone"
    run(main.read([f"dataset={tmp_path / 'me'}", f"out={out}", "epochs=2", "games=3", "frames_per_step=[1,3]"]))
    said = capsys.readouterr().out
    assert "decisions: tried 30 a second: 0 of 30 greedy" in said
    assert "kept 30 a second" in said
    assert "It is played with its most probable actions." in said
    assert said.splitlines()[-1] == (
        f"next: qwop-finetune policy={out}/policy.safetensors schedule=person out={tmp_path}/clone-faster"
    )
    policy = load_policy(out / "policy.safetensors")
    assert policy.environment.settings["frames_per_step"] == 1
    assert policy.observation.size == 112
    assert policy.network.scaler.std.min() > 1e-3
