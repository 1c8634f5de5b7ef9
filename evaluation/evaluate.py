"""Evaluation of a policy: play many games, summarise them and keep the best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..common.settings import to_plain
from ..envs.spec import EnvironmentSpec
from ..policies.policy import Policy
from ..policies.rollout import Game, play
from .figures import GameResult, figures_of, rank_of, result_of
from .settings import DRAWN, EvaluationSettings

if TYPE_CHECKING:
    import pandas

LONGEST_ROLLING = 30
"""Frames: the idle frames of the published evaluations."""

SETTLED = 60
"""Number of frames after which the runner has practically stopped moving."""


@dataclass(frozen=True)
class Start:
    """A kind of start that is reported separately: `least` to `most` idle frames, all equally likely.

    For about a second the runner still drops into place from the game's initial pose; after that it has settled, which
    is a different start. Published results are of the first kind.
    """

    name: str
    least: int
    most: int

    def __contains__(self, idle_frames: int | None) -> bool:
        return idle_frames is not None and self.least <= idle_frames <= self.most

    def __str__(self) -> str:
        return f"{self.name}\n{self.least}–{self.most} idle frames"


def starts_up_to(max_idle_frames: int) -> tuple[Start, ...]:
    """Return the kinds of starts for games with up to this many idle frames. Up to 30 frames there is only `rolling`;
    beyond, `any` covers all games, and `settled` those that begin late.
    """
    rolling = Start("rolling", 0, min(LONGEST_ROLLING, max_idle_frames))
    if max_idle_frames <= LONGEST_ROLLING:
        return (rolling,)
    settled = (Start("settled", SETTLED, max_idle_frames),) if max_idle_frames > SETTLED else ()
    return (rolling, Start("any", 0, max_idle_frames), *settled)


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
    def table(self) -> "pandas.DataFrame":
        """A row for each game, with the fields of `GameResult`."""
        import pandas

        return pandas.DataFrame([asdict(result) for result in self.results])

    @property
    def any_start(self) -> tuple[GameResult, ...]:
        """The games with any start, where the results hold games of several kinds."""
        return next((games for start, games in self.by_start.items() if start.name == "any"), self.results)

    def summary(self) -> dict[str, Any]:
        """Figures of the games with any start."""
        return self.figures(self.any_start)

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
            "settings": to_plain(self.settings),
            "best_game": self.best.index,
            "games": [asdict(result) for result in self.results],
        }


def evaluate(
    policy: Policy,
    settings: EvaluationSettings,
    environment: EnvironmentSpec | None = None,
    progress: Callable[[int], None] | None = None,
    on_game: Callable[[Game], None] = lambda game: None,
) -> Evaluation:
    """Play the games of `settings` in the policy's environment, or in another of the same shapes.

    Without a number of episodes, greedy games of a deterministic environment with idle starts are played once for each
    number of idle frames. Otherwise `episodes` games (100 by default) are drawn for each kind of start, `rolling` and
    `any`. `progress` is called with the number of games finished, `on_game` with each game, in order; of its
    observations it has the last. Raises BadInput for an environment of other shapes.
    """
    spec = environment or policy.environment
    settings = settings.playing(policy.greedy)
    parts, runs = _parts(settings, spec), spec.capabilities.runs
    results: list[GameResult] = []
    by_start: dict[Start, tuple[GameResult, ...]] = {}
    best: tuple[tuple[float, ...], Game] | None = None
    for part in parts:
        before = len(results)
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
            first=before,
        )
        for game in games:
            result = result_of(game, runs=runs)
            results.append(result)
            on_game(game)
            if progress is not None:
                progress(len(results))
            rank = rank_of(result)
            if best is None or rank > best[0]:
                best = rank, game
        by_start |= part.by_start(results[before:])
    assert best is not None
    exact = parts[0].idle_frames is not None
    return Evaluation(spec, settings, tuple(results), best[1], by_start, exact)


def games_of(settings: EvaluationSettings, environment: EnvironmentSpec) -> int:
    """Return the number of games that `evaluate` plays."""
    return sum(part.episodes for part in _parts(settings, environment))


@dataclass(frozen=True)
class _Part:
    """Games to play together, and the kinds of starts that they count in. idle_frames: of each, unless drawn."""

    episodes: int
    max_idle_frames: int
    starts: Sequence[Start] = ()
    idle_frames: Sequence[int] | None = None

    def by_start(self, results: Sequence[GameResult]) -> dict[Start, tuple[GameResult, ...]]:
        """The results of these games by their start."""
        return {start: tuple(one for one in results if one.idle_frames in start) for start in self.starts}


def _parts(settings: EvaluationSettings, spec: EnvironmentSpec) -> list[_Part]:
    """One part for every number of idle frames, or one for the rolling starts that are drawn and one for any start."""
    able, most = spec.capabilities, settings.max_idle_frames
    if not able.idle_start:
        return [_Part(settings.episodes or DRAWN, 0)]
    starts = starts_up_to(most)
    if settings.episodes is None and settings.greedy is not False and able.deterministic:
        return [_Part(most + 1, most, starts, range(most + 1))]
    rolling, *longer = starts
    parts = [_Part(settings.episodes or DRAWN, rolling.most, [rolling])]
    return [*parts, _Part(settings.episodes or DRAWN, most, longer)] if longer else parts
