"""Command lines that cannot be carried out: one line, before anything is written or cloned."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune import start
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

from .fakes import CARTPOLE, write_games

CLONE, SCHEDULE = "demonstrations=demos", "schedule=kurodo-published"
START = f"policy=policy.safetensors {CLONE} {SCHEDULE}"
ALONE = f"{CLONE} schedule=live-only"
KICKED = "schedule.phases.alone.kickstarting"
QWOP = f"policy=scratch environment=QWOP-v1 schedule=live-only algorithm=ppo {KICKED}"

REFUSED = {
    "policy=policy.safetensors demonstrations=demos": "choose one, such as schedule=kurodo",
    f"policy=nowhere.safetensors {CLONE} {SCHEDULE}": "nowhere.safetensors",
    f"policy=policy.safetensors demonstrations=nowhere {SCHEDULE}": "nowhere",
    f"policy=policy.safetensors demonstrations=other {SCHEDULE}": "max_episode_steps",
    f"policy=wide.safetensors {CLONE} {SCHEDULE}": "observations is float32 [4], not float32 [5]",
    f"policy=policy.safetensors environment=CartPole-v1 {SCHEDULE}": "environment=CartPole-v1",
    f"{CLONE} environment=Acrobot-v1 {SCHEDULE}": "environment=Acrobot-v1: a policy or demonstrations bring their own",
    "policy=scratch environment=Pendulum-v1 schedule=live-only": "expected Discrete(n)",
    "policy=scratch schedule=live-only": "name its environment",
    f"policy=acrobot.safetensors {SCHEDULE}": "plays Acrobot-v1, and the schedule needs demonstrations",
    f"policy=acrobot.safetensors {CLONE} {SCHEDULE}": "environment is CartPole-v1, not Acrobot-v1; give",
    f"policy=fast.safetensors demonstrations=slow {SCHEDULE}": "frames_per_step is 3, not 2",
    "policy=wide.safetensors schedule=live-only algorithm=ppo": "it was changed after the policy was made",
    "policy=champion schedule=live-only +schedule.phases.alone.environment.observation=full": "the observations",
    f"{START} behaviour.mode=guessed": "behaviour.mode=guessed",
    f"{START} loop.capacity=7": "loop.capacity=7",
    f"{START} +algorithm.lr=1": "algorithm.lr",
    f"{START} device=abacus": "device=abacus",
    f"{START} schedule.phases.mixed.hours=few": "mixed.hours=few",
    f"{START} resume=true": "no checkpoint",
    f"{START} schedule.keep=best evaluation.episodes=0": "evaluation.episodes=0 evaluates none",
    f"{START} '+schedule.phases.then={{hours: 1, algorithm: pop}}'": "schedule.phases.then.algorithm",
    f"{START} '+schedule.phases.then={{hours: 1, algorithm: ppo, demonstrations: 1}}'": "algorithm=ppo has no memory",
    f"{START} '+schedule.phases.then={{hours: 1, algorithm: dqn, critic_only: true}}'": "dqn has no policy apart",
    f"{ALONE} algorithm=acer loop.capacity=8": "fewer than loop.start=256",
    f"{ALONE} algorithm=ppo schedule.phases.alone.restarts.from=2": "restarts",
    f"{ALONE} algorithm=ppo distributed=ray distributed.actors=7": "give a multiple",
    f"{ALONE} algorithm=acer '+schedule.phases.then={{hours: 1, algorithm: ppo, demonstrations: 1}}'": "has no memory",
    f"{ALONE} algorithm=ppo teacher=champion {KICKED}=1": "champion: a policy of QWOP-v1",
    f"{ALONE} algorithm=acer teacher=champion {KICKED}=1": "cannot imitate a teacher; choose ppo, vtrace, ftw",
    f"{ALONE} algorithm=ppo {KICKED}=1": "the run has no teacher; name one (teacher=champion)",
    f"{ALONE} algorithm=ppo teacher=champion": "teacher=champion: no phase imitates it",
    f"{QWOP}=1 teacher=nowhere": "nowhere",
    f"{QWOP}=1 teacher=champion": "champion: decides 30 times a second, but its pupil 10 times",
    f"{QWOP}=[1,-1]": "expected a number or [start, end], at least 0",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_line_that_does_not_fit_is_refused_in_one_before_anything_is_made(
    line: str, finetune: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, inputs, actions, spec in (
        ("policy", 4, 2, CARTPOLE), ("wide", 5, 2, CARTPOLE), ("acrobot", 6, 3, EnvironmentSpec("Acrobot-v1")),
        ("fast", 71, 11, EnvironmentSpec("QWOP-v1", {"frames_per_step": 2})),
    ):  # fmt: skip
        network = ActorCritic(inputs, actions, (16,), torch.Generator().manual_seed(0))
        save_policy(tmp_path / f"{name}.safetensors", Policy(network, spec, ObservationSpec((inputs,))))
    write_games(tmp_path / "slow", EnvironmentSpec("QWOP-v1", {"frames_per_step": 3}), [9])
    write_games(tmp_path / "demos", CARTPOLE)
    write_games(tmp_path / "other", EnvironmentSpec("CartPole-v1", {"max_episode_steps": 50}), [9])
    monkeypatch.setattr(start, "clone", lambda *_, **more: pytest.fail("the demonstrations were cloned"))
    assert REFUSED[line] in finetune(*shlex.split(line), "out=run").refusal()
    assert not (tmp_path / "run").exists()
