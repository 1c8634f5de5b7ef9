"""`source=scripted`: a policy runs, and a scripted person corrects it; for repeatable figures, without a browser."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...common.errors import BadInput
from ...datasets.schema import Episode
from ...policies.files import load_policy
from ...policies.policy import Policy
from ...policies.threads import use_one_thread
from ..settings import ScriptedSettings
from ..source import Source
from .environment_stage import EnvironmentStage
from .game import CoachedGame
from .qwop_stage import QwopStage
from .recording import Recording, frames_a_second
from .scripted import EnvironmentEyes, Eyes, Hands, QwopEyes, ScriptedPerson


def open_scripted(settings: ScriptedSettings, folder: Path) -> Source:
    """Play until the minutes are over; every game is played to its end. BadInput for invalid settings."""
    use_one_thread()
    policy = load_policy(settings.policy)
    spec = policy.environment
    env = None if spec.capabilities.keys else spec.make()
    fps = settings.fps or frames_a_second(policy)
    recording = Recording(settings, folder, env, None, fps)
    person = load_policy(settings.person)
    if person.initial_state(1) or (env is not None) != (not person.environment.capabilities.keys):
        raise BadInput(
            f"{settings.person}: a policy of {person.environment}; to play for a person it has to be one of {spec.id} "
            "without a memory"
        )
    if env is not None:
        person.require_fit(recording.info.observation, recording.info.actions, settings.person, str(spec))
    games = _Session(recording, person, settings)
    notes = [f"{settings.policy}: playing {recording.info.environment}, corrected by {settings.person}"]
    return Source(info=recording.info, episodes=games.episodes(), notes=notes)


class _Session:
    """Games of a policy that the scripted person watches."""

    def __init__(self, recording: Recording, person: Policy, settings: ScriptedSettings) -> None:
        self._recording, self._person, self._settings = recording, person, settings

    def episodes(self) -> Iterator[Episode]:
        """Yield the lines that are left and the games that end, until the minutes are over."""
        left = self._settings.minutes * 60
        while left > 0:
            game = self._recording.new_game()
            random = np.random.default_rng([self._settings.seed, game.number, 1])
            hands = Hands(self._settings.late, self._settings.slips)
            person = ScriptedPerson(game, self._eyes(game), hands, random, whole=self._settings.whole)
            attempts = 0
            while True:
                first = game.stage.frame
                while not game.over:
                    game.frame(person.frame())
                left -= (game.stage.frame - first) / game.stage.fps
                fell = game.stage.result()["outcome"] == "fell"
                if not fell or attempts == self._settings.attempts or left <= 0:
                    yield game.record()
                    break
                attempts += 1
                line = game.go_back(self._settings.back)
                assert line is not None
                yield line
                person.take_over()

    def _eyes(self, game: CoachedGame) -> Eyes:
        stage = game.stage
        if isinstance(stage, QwopStage):
            return QwopEyes(self._person, stage)
        assert isinstance(stage, EnvironmentStage)
        return EnvironmentEyes(self._person, stage)
