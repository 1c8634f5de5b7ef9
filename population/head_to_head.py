"""Head-to-head races between policies, for comparison."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..common.errors import BadInput, quoted
from ..envs.engine import batch
from ..envs.pictures.video import write_video
from ..envs.race.events import EVENTS, LOST, WON, weighted
from ..envs.race.vector import QWOPRaceVectorEnv
from ..envs.spec import EnvironmentSpec
from ..envs.vector import Infos
from ..policies.policy import Policy, choose
from .rival_races import decision_frames, view_of
from .training import Report, event_weights_of

_DECISION = EVENTS.index("decision")

Pictures = tuple[NDArray[np.uint8], ...]


def play_head_to_head(
    policy: Policy,
    others: Sequence[Policy],
    race: EnvironmentSpec,
    *,
    games: int,
    num_games: int = 64,
    report: Report = lambda races: None,
) -> pd.DataFrame:
    """Race the policy greedily against the others.

    A row is a race: its `result` (1 won, ½ drawn, 0 lost), `metres` and `their_metres`, and `seconds` and
    `their_seconds`, NaN where the runner did not finish.

    Race k begins with k idle frames, is against `others[k % len(others)]` and depends only on k. The race runs at the
    higher decision rate of the two; the slower policy keeps its own rate. Raises BadInput if either of them cannot run
    in the race. report: called with the number of races that have just been run.
    """
    columns = ["result", "metres", "their_metres", "seconds", "their_seconds"]
    races = np.full((games, len(columns)), np.nan)
    for turn, other in enumerate(others):
        mine = range(turn, games, len(others))
        for first in range(0, len(mine), num_games):
            starts = mine[first : first + num_games]
            over = np.zeros(len(starts), dtype=np.bool_)
            for infos, ended in _play((policy, other), race, starts):
                for place in np.flatnonzero(ended & ~over).tolist():
                    rows = slice(2 * place, 2 * place + 2)
                    seconds = np.where(infos["outcome"][rows] == batch.FINISHED, infos["time"][rows], np.nan)
                    races[starts[place]] = infos["result"][2 * place], *infos["distance"][rows], *seconds
                over |= ended
                if over.all():
                    break
            report(len(starts))
    return pd.DataFrame(races, columns=columns)


def figures_of(races: pd.DataFrame, name: str) -> dict[str, Any]:
    """The figures of races against `name`, the result of each race, and a sentence."""
    won, lost = (float((races["result"] == one).mean()) for one in (WON, LOST))
    figures = {"against": name, "races": len(races), "won": won, "lost": lost}
    sides = []
    for side in ("", "their_"):
        finishers, metres = races[f"{side}seconds"].dropna(), float(races[f"{side}metres"].mean())
        median = f" (median {finishers.median():.2f} s)" if len(finishers) else ""
        figures |= {f"{side}metres": metres, f"{side}finishes": len(finishers)}
        sides.append((f"{metres:.1f} m", f"{len(finishers)}{median}"))
    metres_of_both, finishes_of_both = (" against ".join(one) for one in zip(*sides, strict=True))
    shares = f"{won:.1%} of {len(races)} races won, {1.0 - won - lost:.1%} drawn, {lost:.1%} lost"
    sentence = f"against {name}: {shares}; {metres_of_both}, {finishes_of_both} finished"
    return {**figures, "results": races["result"].tolist(), "sentence": sentence}


def tournament(policies: Sequence[Policy], race: EnvironmentSpec, games: int, report: Report) -> NDArray[np.float64]:
    """Play a round-robin tournament; returns each policy's share of points, float64 [n].

    A win counts 1, a draw ½.
    """
    points = np.zeros(len(policies))
    for one, other in itertools.combinations(range(len(policies)), 2):
        races = play_head_to_head(policies[one], [policies[other]], race, games=games, report=report)
        won = races["result"].mean()
        points[one] += won
        points[other] += 1.0 - won
    return points / max(len(policies) - 1, 1)


def film_race(path: Path, policies: tuple[Policy, Policy], race: EnvironmentSpec) -> None:
    """Film a race between two policies that play greedily, side by side."""

    def pictures() -> Iterator[NDArray[np.uint8]]:
        frames: list[Pictures] = []
        for _, ended in _play(policies, race, [0], frames):
            yield frames.pop()[0]
            if ended.all():
                return

    rate = shared_race(race, policies).capabilities.decisions_per_second
    assert rate is not None
    write_video(path, pictures(), rate)


def shared_race(race: EnvironmentSpec, policies: Sequence[Policy]) -> EnvironmentSpec:
    """The race at the highest rate of these policies; BadInput unless that is a multiple of the race's own rate."""
    frames = min([decision_frames(race), *(decision_frames(policy.environment) for policy in policies)])
    if decision_frames(race) % frames:
        raise BadInput(
            f"a policy decides every {frames} frames, and the race {decision_frames(race)}: expected a multiple of it; "
            "give race.frames_per_step= another number"
        )
    return EnvironmentSpec(race.id, {**race.settings, "frames_per_step": frames})


def _play(
    policies: tuple[Policy, Policy],
    race: EnvironmentSpec,
    starts: Sequence[int],
    frames: list[Pictures] | None = None,
) -> Iterator[tuple[Infos, NDArray[np.bool_]]]:
    """Play races with these numbers of idle frames at the start, one decision per iteration.

    Yields the infos of both runners, [2n, ...], and the races that have just ended, bool [n]; new races then take their
    places. frames: collects pictures of the races before each decision.
    """
    race = shared_race(race, policies)
    views = [view_of(policy, race, quoted(policy.environment.id), may_hold=True) for policy in policies]
    weights = [event_weights_of(policy.environment) for policy in policies]
    number = len(starts)
    env = QWOPRaceVectorEnv(2 * number, None if frames is None else "rgb_array", **race.settings)
    try:
        observations, _ = env.reset(seed=0)
        for place, start in enumerate(starts):
            mask = np.repeat(np.arange(number) == place, 2)
            observations, _ = env.reset(options={"reset_mask": mask, "idle_frames": int(start)})
        states = [policy.initial_state(number) for policy in policies]
        actions = np.zeros(2 * number, dtype=np.int64)
        earned = [np.zeros(number) for _ in policies]
        for step in itertools.count():
            for side, (policy, (columns, hold)) in enumerate(zip(policies, views, strict=True)):
                if step % hold:
                    continue
                if step:
                    states[side] = policy.feed(states[side], actions[side::2], earned[side].astype(np.float32))
                    earned[side][:] = 0.0
                probabilities, states[side] = policy.step(observations[side::2][:, columns], states[side])
                actions[side::2], _ = choose(probabilities, None)
            if frames is not None:
                pictures = env.render()
                assert pictures is not None
                frames.append(pictures)
            observations, _, terminated, truncated, infos = env.step(actions)
            for side, (_, hold) in enumerate(views):
                events = infos["events"][side::2].copy()
                if step % hold:
                    events[:, _DECISION] = 0.0  # not a decision of its own
                earned[side] += weighted(weights[side], events)
            yield infos, (terminated | truncated)[0::2]
    finally:
        env.close()
