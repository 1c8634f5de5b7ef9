"""Evaluation of a policy: play many games, summarise them and keep the best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.spec import EnvironmentSpec
from ..policies.policy import Policy
from ..policies.rollout import Game, play
from .figures import figures_of
from .results import GameResult, rank_of, result_of
from .settings import DRAWN, EvaluationSettings
from .starts import Start, starts_up_to


@dataclass(frozen=True)
class Evaluation:
    """The games of one policy, in order, and the best one: the fastest finish, else the farthest, else most reward.

    by_start: the games of each kind of start; the last one except `settled` holds all games asked for. exact: the games
    cover every number of idle frames exactly once, so shares are exact and need no interval.
    """

    environment: EnvironmentSpec
    settings: EvaluationSettings
    results: tuple[GameResult, ...]
    best: Game
    by_start: Mapping[Start, tuple[GameResult, ...]] = field(default_factory=dict)
    exact: bool = False

    @property
    def has_metres(self) -> bool:
        """True if the games are runs, with a distance and a time."""
        return all(result.metres is not None for result in self.results)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Times of the finished games, float64 [finishes]."""
        return np.array([result.seconds for result in self.results if result.finished], dtype=np.float64)

    @property
    def judged(self) -> tuple[GameResult, ...]:
        """The games with any start, where the results hold games of several kinds."""
        return next((games for start, games in self.by_start.items() if start.name == "any"), self.results)

    def summary(self) -> dict[str, Any]:
        """Figures of the games with any start."""
        return self.figures(self.judged)

    def figures(self, results: Sequence[GameResult]) -> dict[str, Any]:
        """Figures of some of the games (`figures_of`), with intervals unless the games are exact."""
        if self.exact:
            return figures_of(results, None)
        one_a_start = self.settings.greedy is not False and self.environment.capabilities.deterministic
        return figures_of(results, [result.idle_frames if one_a_start else result.index for result in results])

    def to_json(self) -> dict[str, object]:
        """Everything except the best game itself, as plain data."""
        starts = {
            start.name: {"idle_frames": [start.least, start.most], **self.figures(games)}
            for start, games in self.by_start.items()
        }
        return {
            **self.summary(),
            "exact": self.exact,
            "starts": starts,
            "environment": self.environment.to_json(),
            "settings": asdict(self.settings),
            "best_game": self.best.index,
            "games": [asdict(result) for result in self.results],
        }


def evaluate(
    policy: Policy,
    settings: EvaluationSettings,
    environment: EnvironmentSpec | None = None,
    progress: Callable[[int], None] | None = None,
    on_game: Callable[[Game], None] = lambda game: None,
    *,
    splits: bool = False,
) -> Evaluation:
    """Play the games of `settings` in the policy's environment, or in another of the same shapes.

    Without a number of episodes, greedy games of a deterministic environment with idle starts are played once for each
    number of idle frames. Otherwise `episodes` games (100 by default) are drawn for each kind of start, `rolling` and
    `any`. `progress` is called with the number of games finished, `on_game` with each game, in order; of its
    observations it has the last. splits: also take the times along each run of QWOP. Raises BadInput for an environment
    of other shapes.
    """
    spec = environment or policy.environment
    settings = settings.playing(policy.greedy)
    plan, runs = _plan(settings, spec), spec.capabilities.runs
    results: list[GameResult] = []
    best: tuple[tuple[float, ...], Game] | None = None
    for part in plan.parts:
        games = play(
            policy,
            episodes=part.episodes,
            seed=settings.seed,
            greedy=bool(settings.greedy),
            num_envs=settings.num_envs,
            max_idle_frames=part.max_idle_frames,
            idle_frames=part.idle_frames,
            idle_limit=settings.idle_limit,
            keep_observations=False,
            environment=spec,
            first=len(results),
        )
        for game in games:
            result = result_of(game, splits, runs=runs)
            results.append(result)
            on_game(game)
            if progress is not None:
                progress(len(results))
            rank = rank_of(result)
            if best is None or rank > best[0]:
                best = rank, game
    assert best is not None
    return Evaluation(spec, settings, tuple(results), best[1], plan.by_start(results), plan.exact)


def games_of(settings: EvaluationSettings, environment: EnvironmentSpec) -> int:
    """Return the number of games that `evaluate` plays."""
    return sum(part.episodes for part in _plan(settings, environment).parts)


@dataclass(frozen=True)
class _Part:
    """Games to play together."""

    episodes: int
    max_idle_frames: int
    idle_frames: Sequence[int] | None = None


@dataclass(frozen=True)
class _Plan:
    """The games to play: one part for every number of idle frames, or one for each start that is drawn."""

    parts: tuple[_Part, ...]
    starts: tuple[Start, ...]
    exact: bool

    def by_start(self, results: Sequence[GameResult]) -> dict[Start, tuple[GameResult, ...]]:
        """Divide the results by start. Drawn games of `rolling` are separate games, not the subset of `any`."""
        own = results[: self.parts[0].episodes], results[-self.parts[-1].episodes :]
        chosen = {
            start: results if self.exact else own[0] if start.name == "rolling" else own[1] for start in self.starts
        }
        return {start: tuple(one for one in games if one.idle_frames in start) for start, games in chosen.items()}


def _plan(settings: EvaluationSettings, spec: EnvironmentSpec) -> _Plan:
    able = spec.capabilities
    if not able.idle_start:
        return _Plan((_Part(settings.episodes or DRAWN, 0),), (), False)
    starts = starts_up_to(settings.max_idle_frames)
    if settings.episodes is None and settings.greedy is not False and able.deterministic:
        every = range(settings.max_idle_frames + 1)
        return _Plan((_Part(len(every), settings.max_idle_frames, every),), starts, True)
    drawn = [start for start in starts if start.name != "settled"]
    return _Plan(tuple(_Part(settings.episodes or DRAWN, start.most) for start in drawn), starts, False)
