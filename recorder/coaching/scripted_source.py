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
    person = load_person(settings.person, policy)
    notes = [f"{settings.policy}: playing {recording.info.environment}, corrected by {settings.person}"]
    return Source(info=recording.info, episodes=_episodes(recording, person, settings), notes=notes)


def load_person(name: str, policy: Policy) -> Policy:
    """Load the policy that plays for a person who corrects `policy`; BadInput for one that cannot."""
    person, spec = load_policy(name), policy.environment
    if person.initial_state(1) or spec.capabilities.keys != person.environment.capabilities.keys:
        raise BadInput(
            f"{name}: a policy of {person.environment}; to play for a person it has to be one of {spec.id} without a "
            "memory"
        )
    if not spec.capabilities.keys:
        person.require_fit(policy.observation, policy.actions, name, str(spec))
    return person


def _episodes(recording: Recording, person: Policy, settings: ScriptedSettings) -> Iterator[Episode]:
    """Yield the lines that are left and the games that end, until the minutes are over."""
    left = settings.minutes * 60
    hands = Hands(settings.late, settings.slips)
    while left > 0:
        game = recording.new_game()
        random = np.random.default_rng([settings.seed, game.number, 1])
        scripted = ScriptedPerson(game, _eyes(game, person), hands, random, whole=settings.whole)
        attempts = 0
        while True:
            first = game.stage.frame
            while not game.over:
                game.frame(scripted.frame())
            left -= (game.stage.frame - first) / game.stage.fps
            fell = game.stage.result()["outcome"] == "fell"
            if not fell or attempts == settings.attempts or left <= 0:
                yield game.record()
                break
            attempts += 1
            line = game.go_back(settings.back)
            assert line is not None
            yield line
            scripted.take_over()


def _eyes(game: CoachedGame, person: Policy) -> Eyes:
    stage = game.stage
    if isinstance(stage, QwopStage):
        return QwopEyes(person, stage)
    assert isinstance(stage, EnvironmentStage)
    return EnvironmentEyes(person, stage)
