"""Small real runs on CartPole, made once."""

import contextlib
import io
from pathlib import Path

import pytest
from qwop.commands import evaluate, finetune

BRIEF = (
    "environment=CartPole-v1", "algorithm=ppo-small", "schedule.decisions=384", "loop.num_envs=4", "loop.steps=32",
    "loop.log_every=128", "evaluation.episodes=4", "evaluation.drawn=4", "video=false", "tracker=none",
)  # fmt: skip


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished runs fast-0, fast-1, slow-0 and slow-1, and evaluations of the first two with drawn
    actions, judged-0 and judged-1."""
    folder = tmp_path_factory.mktemp("runs")
    with contextlib.redirect_stdout(io.StringIO()):
        for name, rate in (("fast", 0.003), ("slow", 1e-6)):
            for seed in (0, 1):
                words = [*BRIEF, f"algorithm.learning_rate={rate}", f"seed={seed}", f"out={folder}/{name}-{seed}"]
                finetune.run(finetune.read(words))
        for seed in (0, 1):
            policy = f"policy={folder}/fast-{seed}/policy.safetensors"
            words = [policy, "greedy=false", "episodes=5", "video=false", f"out={folder}/judged-{seed}"]
            evaluate.run(evaluate.read(words))
    return folder
