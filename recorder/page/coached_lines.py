"""Games in which a person corrects a policy on the page: its decisions, checked against PyTorch, as an episode."""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.control import POLICY, Branch, coached
from ...datasets.folder import require_same
from ...datasets.from_keys import episode_from_keys
from ...datasets.schema import DatasetInfo, Episode
from ...envs.names import ACTION_KEYS
from ...envs.qwop.session import Replay
from ...play.site import acting_part
from ...policies.champion import policy_path
from ...policies.devices import use_one_thread
from ...policies.files import load_policy
from ...policies.policy import Policy, choose
from ..settings import RecorderPageSettings
from ..source import identity_of, next_game, recorded_games
from .environment_game import coached_environment
from .messages import Decision, Line

TOLERANCE = 1e-5
"""Largest difference between a probability of the page and PyTorch's, which adds in another order."""

IN_PAGE = ("actor-critic", "actor", "valued-actor")
"""Networks that the page draws from. Those of Q values act by the largest one, so rounding decides between
equals."""


def lines_of(settings: RecorderPageSettings, folder: Path) -> "Lines | None":
    """The lines of the policy that is corrected; None for a network that the page cannot run. BadInput for a policy of
    another environment."""
    assert settings.policy is not None
    use_one_thread()
    policy = load_policy(settings.policy)
    if not policy.environment.capabilities.keys:
        raise BadInput(
            f"source.policy={settings.policy}: plays {policy.environment}, not QWOP; give source=environment with "
            "source.id"
        )
    if policy.network.architecture not in IN_PAGE or policy.observation.is_image:
        return None
    return Lines(settings, policy, folder)


class Lines:
    """Makes episodes of the games of one policy and seed. Each has a number, which goes on after those in `folder`.

    info: of the dataset. games: identity of all of them, without the number. seed: of the draws.
    """

    def __init__(self, settings: RecorderPageSettings, policy: Policy, folder: Path) -> None:
        """BadInput for a folder with another dataset."""
        assert settings.policy is not None
        self._settings, self._policy, self.seed = settings, policy, settings.seed
        self.info = DatasetInfo(coached_environment(policy), policy.observation, policy.actions)
        require_same(folder, self.info)
        self.games = identity_of(settings, settings.policy)
        there = [one.origin for one in recorded_games(folder).values() if one.is_of(self.games)]
        self._numbers = {origin.page_game: origin.game for origin in there if origin.game is not None}
        first = next_game(folder, self.games)
        self._next, self._visits = itertools.count(first), itertools.count(first)
        policy.probabilities(np.zeros((1, policy.observation.size), dtype=np.float32))  # loads what it takes, now

    @property
    def file(self) -> bytes:
        """The policy as the page plays it."""
        assert self._settings.policy is not None
        return acting_part(policy_path(self._settings.policy))

    def for_page(self) -> dict[str, object]:
        """Settings of a page that is opened, whose draws are its own."""
        settings = self._settings
        return {
            "policy": self.games.source, "release": settings.release, "back": settings.back, "greedy": settings.greedy,
            "idle": settings.max_idle_frames, "key": [self.seed, next(self._visits)],
        }  # fmt: skip

    def episode(
        self, game: str, line: Line, decisions: Sequence[Decision], keys: NDArray[np.uint8], replay: Replay, *,
        player: str, epsilon: float,
    ) -> Episode:  # fmt: skip
        """The episode of a line. game: its twelve digits. keys: uint8 [n]. replay: of the keys.

        BadInput if an action of the policy does not follow from the page's probabilities and the uniform number, or a
        probability is none of PyTorch's.
        """
        if not decisions:
            raise BadInput("it has no decision")
        bounds = np.array([*(one.frame for one in decisions), len(replay.states) - 1])
        if bounds[0] < 0 or (np.diff(bounds) < 1).any():
            raise BadInput("its decisions are not in the order of its frames")
        episode = episode_from_keys(
            keys, self.info, player=player, source=self.games.source, epsilon=epsilon, game=replay, bounds=bounds,
        )  # fmt: skip
        actors = np.array([one.actor for one in decisions], dtype=np.int8)
        odds = np.array([one.probabilities for one in decisions], dtype=np.float32)
        own_odds = self._policy.probabilities(episode.observations[:-1])
        if len(wrong := np.flatnonzero(~(np.abs(odds - own_odds).max(axis=1) <= TOLERANCE))):
            raise BadInput(f"the probabilities of its decision {wrong[0] + 1} are other ones than PyTorch's")
        own, turns = np.flatnonzero(actors == POLICY), [one for one in decisions if one.actor == POLICY]
        actions = np.array([-1 if one.action is None else one.action for one in turns], dtype=np.int64)
        for row, action in zip(own.tolist(), actions.tolist(), strict=True):
            if action < 0 or (keys[bounds[row] : bounds[row + 1]] != ACTION_KEYS[action]).any():
                raise BadInput(f"its decision {row + 1} has other keys than the policy's action")
        if self.games.origin.greedy:
            mu = np.eye(odds.shape[1], dtype=np.float32)[actions]
            follow = own_odds[own, actions] >= own_odds[own].max(axis=1) - TOLERANCE
        else:
            uniforms = [uniform_number(self.seed, line, one.number or 0) for one in turns]
            draws, mu = choose(odds[own], np.array(uniforms))
            follow = draws == actions
        if not follow.all():
            raise BadInput(f"the action of its decision {own[~follow][0] + 1} does not follow from its probabilities")
        if game not in self._numbers:
            self._numbers.setdefault(game, next(self._next))  # in one step, as pages come back in another thread
        # A line that left one which was refused is a whole game: all of its decisions are its own then.
        parent = self._numbers.get(line.of or "")
        branch = None if parent is None else Branch(parent, line.step)
        origin = replace(self.games.origin, game=self._numbers[game], page_game=game)
        return coached(episode, actors, [*mu], policy_probabilities=odds, branch=branch, origin=origin)


def uniform_number(seed: int, line: Line, number: int) -> float:
    """The uniform number, in [0, 1), of a draw in a game of a page: 52 bits of the SHA-256 of its place."""
    digest = hashlib.sha256(f"{seed} {line.page} {line.game} {number}".encode()).hexdigest()
    return int(digest[:13], 16) / 2**52
