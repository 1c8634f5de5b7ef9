"""Evaluation: which games are played, and the figures of them."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.names import EVENT_COLUMNS
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.evaluation.evaluate import Evaluation, EvaluationSettings, evaluate, games_of, starts_up_to
from qwop.evaluation.figures import GameResult, bootstrap_interval, rank_of, result_of, wilson_interval
from qwop.evaluation.film import film
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import Game, play

from ..fakes import Odd, game_without_rows, registered, untrained

QWOP = EnvironmentSpec("QWOP-v1", {"frames_per_step": 5, "time_limit": 4.0})
LATE = EnvironmentSpec("QWOP-v1", {**QWOP.settings, "delay": 0.3})
"""The same start, and yet another game."""


@pytest.fixture(scope="module")
def policy() -> Policy:
    torch.manual_seed(0)
    network = ActorCritic(71, 11, hidden=(16,))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return Policy(network, QWOP, ObservationSpec((71,)))


def run(index: int, seconds: float, metres: float, outcome: str) -> GameResult:
    return GameResult(
        index, index, outcome, decisions=100, reward=10 * metres, metres=metres, seconds=seconds, idle_frames=index
    )


def of(*results: GameResult) -> Evaluation:
    return Evaluation(QWOP, EvaluationSettings(), results, game_without_rows())


def test_times_are_of_the_finished_games_and_metres_of_all() -> None:
    runs = [(60.0, 100.4, "finished"), (3.0, 4.0, "fell"), (50.0, 101.0, "finished"), (120.0, 55.0, "stopped")]
    evaluation = of(*(run(place, *one) for place, one in enumerate([*runs, (52.0, 100.6, "finished")])))
    figures = evaluation.summary()
    assert (figures["episodes"], figures["finishes"]) == (5, 3)
    assert (figures["best_seconds"], figures["median_seconds"], figures["mean_seconds"]) == (50.0, 52.0, 54.0)
    assert figures["mean_metres"] == pytest.approx(361 / 5)
    assert figures["best_metres"] == 101.0
    for mean in ("mean_seconds", "mean_metres", "mean_return", "finish_share"):
        low, high = figures[f"{mean}_interval"]
        assert low < figures[mean] < high
    without = of(run(0, 3.0, 4.0, "fell")).summary()
    times = ("best_seconds", "median_seconds", "mean_seconds", "mean_seconds_interval")
    assert ([without[name] for name in times], without["finishes"]) == ([None] * 4, 0)


def test_a_bootstrap_interval_is_that_of_the_mean() -> None:
    values = np.random.default_rng(1).normal(10, 2, 400)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std() / math.sqrt(len(values))
    assert low == pytest.approx(values.mean() - half, abs=0.02)
    assert high == pytest.approx(values.mean() + half, abs=0.02)
    assert bootstrap_interval(values) == (low, high)
    assert bootstrap_interval([3.0]) == (3.0, 3.0)
    assert bootstrap_interval([0.0] + [1.0] * 9, ["one"] + ["other"] * 9) == (0.0, 1.0)  # of games of unequal weight


def test_an_interval_of_a_share_has_a_width_where_all_games_finish() -> None:
    # Wilson's with z = 1.95996: 100 of 100, 0 of 1, and 81 of 263 (Newcombe 1998, table I).
    assert wilson_interval([True] * 100) == pytest.approx((0.963006, 1.0), abs=1e-6)
    assert wilson_interval([False]) == pytest.approx((0.0, 0.793450), abs=1e-6)
    assert wilson_interval([True] * 81 + [False] * 182) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval([True] * 6, [1, 1, 2, 2, 3, 3]) == wilson_interval([True] * 3)
    drawn = Evaluation(QWOP, EvaluationSettings(greedy=False), (run(0, 50.0, 100.0, "finished"),), game_without_rows())
    assert drawn.summary()["finish_share_interval"] == pytest.approx([0.206549, 1.0], abs=1e-6)


def test_the_games_are_those_of_the_seed_whatever_the_number_at_a_time(policy: Policy) -> None:
    many = evaluate(policy, EvaluationSettings(episodes=7, seed=4, num_envs=5))
    one = evaluate(policy, EvaluationSettings(episodes=7, seed=4, num_envs=1))
    assert many.results == one.results
    assert [result.index for result in many.results] == list(range(7))
    assert evaluate(policy, EvaluationSettings(episodes=7, seed=5)).results != many.results


def test_every_start_of_greedy_games_is_played_once_and_needs_no_interval(policy: Policy) -> None:
    settings = EvaluationSettings(max_idle_frames=70, num_envs=16)
    evaluation = evaluate(policy, settings)
    assert evaluation.exact
    assert (
        [result.idle_frames for result in evaluation.results]
        == list(range(71))
        == list(range(games_of(settings, QWOP)))
    )
    counts = {start.name: len(games) for start, games in evaluation.by_start.items()}
    assert counts == {"rolling": 31, "any": 71, "settled": 11}
    assert {
        one.idle_frames for start, games in evaluation.by_start.items() for one in games if start.name == "settled"
    } == {*range(60, 71)}
    assert not [name for name in evaluation.summary() if name.endswith("_interval")]
    # The seed decides nothing in these games.
    other = evaluate(policy, EvaluationSettings(max_idle_frames=70, seed=9))
    assert [result.metres for result in other.results] == [result.metres for result in evaluation.results]


def test_drawn_games_have_their_own_part_for_each_start(policy: Policy) -> None:
    settings = EvaluationSettings(episodes=40, max_idle_frames=90, greedy=False)
    evaluation = evaluate(policy, settings)
    assert not evaluation.exact
    assert not evaluate(policy, EvaluationSettings(episodes=3), LATE).exact
    assert games_of(EvaluationSettings(), LATE) == 100
    assert len(evaluation.results) == games_of(settings, QWOP) == 80
    assert [result.index for result in evaluation.results] == list(range(80))
    starts = {start.name: games for start, games in evaluation.by_start.items()}
    assert starts["rolling"] == evaluation.results[:40]
    assert starts["any"] == evaluation.results[40:]
    assert (
        max(one.idle_frames or 0 for one in starts["rolling"])
        <= 30
        < max(one.idle_frames or 0 for one in starts["any"])
    )
    assert starts["settled"] == tuple(one for one in starts["any"] if (one.idle_frames or 0) >= 60)
    assert evaluation.summary()["episodes"] == 40
    assert evaluation.summary()["mean_metres"] == pytest.approx(np.mean([one.metres for one in starts["any"]]))


def test_greedy_games_with_the_same_start_count_as_one_in_the_interval() -> None:
    repeated = [run(place, 50.0 + place % 2, 100.5, "finished") for place in range(40)]
    same_start = of(*(replace(one, idle_frames=one.index % 2) for one in repeated)).summary()
    different = of(*(replace(one, idle_frames=one.index) for one in repeated)).summary()
    assert same_start["mean_seconds"] == different["mean_seconds"] == 50.5
    assert same_start["mean_seconds_interval"] == [50.0, 51.0]
    low, high = different["mean_seconds_interval"]
    assert 50.2 < low < high < 50.8
    falls = [run(place, 3.0, 4.0, "fell") for place in range(100, 140)]
    with_falls = of(*falls, *(replace(one, idle_frames=one.index % 2) for one in repeated)).summary()
    assert with_falls["mean_seconds_interval"] == [50.0, 51.0]
    drawn = replace(of(*(replace(one, idle_frames=one.index % 2) for one in repeated)), environment=LATE).summary()
    assert drawn["mean_seconds_interval"] == different["mean_seconds_interval"]


def test_a_fast_finish_is_better_than_a_slow_one_and_both_than_a_long_way_and_that_than_a_high_return() -> None:
    games = [
        run(0, 9.0, 4.0, "fell"),
        replace(run(1, 9.0, 4.0, "fell"), reward=99.0),
        run(2, 8.0, 99.0, "fell"),
        run(3, 60.0, 101.0, "finished"),
        run(4, 50.0, 100.4, "finished"),
    ]
    assert sorted(games, key=rank_of) == games
    others = [GameResult(n, n, "terminated", 5, float(n), None, None, None) for n in range(3)]
    assert sorted(others, key=rank_of) == others


def test_the_best_game_is_the_farthest_where_none_finishes_and_the_first_of_equals(policy: Policy) -> None:
    counts, games = list[int](), list[Game]()
    settings = EvaluationSettings(episodes=20, max_idle_frames=30, greedy=False)
    evaluation = evaluate(policy, settings, progress=counts.append, on_game=games.append)
    assert counts == [*range(1, 21)]
    assert [result_of(game) for game in games] == list(evaluation.results)
    farthest = max(evaluation.results, key=lambda result: result.metres or 0)
    assert evaluation.best.info["score"] == farthest.metres
    assert result_of(evaluation.best) == evaluation.results[evaluation.best.index]
    alike = EvaluationSettings(episodes=3, max_idle_frames=0)  # greedy games from the same start
    assert evaluate(policy, alike).best.index == 0


def test_other_environments_have_returns_and_no_metres() -> None:
    torch.manual_seed(0)
    policy = Policy(ActorCritic(4, 2, hidden=(16,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
    evaluation = evaluate(policy, EvaluationSettings(episodes=6))
    figures = evaluation.summary()
    assert "finishes" not in figures
    assert "mean_metres" not in figures
    games = list(play(policy, episodes=6, seed=0, greedy=True))
    assert figures["best_return"] == max(len(game) for game in games)
    assert figures["mean_return"] == pytest.approx(np.mean([len(game) for game in games]))
    assert len(evaluation.best) == figures["best_return"]


def test_a_policy_of_another_shape_is_refused(policy: Policy) -> None:
    with pytest.raises(BadInput, match="CartPole-v1"):
        evaluate(policy, EvaluationSettings(episodes=1), EnvironmentSpec("CartPole-v1"))


def test_a_game_that_landed_past_100_metres_is_a_finish() -> None:
    landed = game_without_rows(outcome="finished", info={"score": 101.2, "time": 47.3, "idle_frames": 4})
    result = result_of(landed)
    assert result.finished
    assert (result.metres, result.seconds, result.idle_frames) == (101.2, 47.3, 4)
    elsewhere = result_of(landed, runs=False)  # whose infos mean what they like
    assert (elsewhere.metres, elsewhere.seconds, elsewhere.idle_frames) == (None, None, None)


def test_a_policy_with_a_state_is_evaluated_and_its_best_game_replays(
    alternating: Callable[[EnvironmentSpec], Policy],
) -> None:
    policy = alternating(QWOP)
    many, one = (evaluate(policy, EvaluationSettings(episodes=5, greedy=False, num_envs=n)) for n in (5, 1))
    assert many.results == one.results
    assert many.best.keys is not None
    shown = replay(np.concatenate(many.best.keys))
    assert shown.events[-1, EVENT_COLUMNS.index("score")] == many.best.info["score"]


class Drawn(Odd):
    pictures = np.zeros((4, 40, 40, 3), np.uint8)


def test_a_film_that_cannot_be_written_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_writer(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no ffmpeg\nat all")

    with registered(Drawn) as id:
        spec = EnvironmentSpec(id)
        best = evaluate(untrained(spec), EvaluationSettings(episodes=3, num_envs=2)).best
        assert film(tmp_path / "best.mp4", best, spec, lambda done, of: None) is None
        assert (tmp_path / "best.mp4").stat().st_size
        monkeypatch.setattr("imageio.v2.get_writer", no_writer)
        assert film(tmp_path / "other.mp4", best, spec, lambda done, of: None) == "no ffmpeg"


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, [("rolling", 0, 0)]),
        (30, [("rolling", 0, 30)]),
        (31, [("rolling", 0, 30), ("any", 0, 31)]),
        (60, [("rolling", 0, 30), ("any", 0, 60)]),
        (300, [("rolling", 0, 30), ("any", 0, 300), ("settled", 60, 300)]),
    ],
)
def test_starts_beyond_the_published_ones_are_told_apart(most: int, expected: list[tuple[str, int, int]]) -> None:
    assert [(start.name, start.least, start.most) for start in starts_up_to(most)] == expected
