"""The card of an evaluated policy for Hugging Face's hub: its figures, and the command that verifies them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.run_folder import command_line
from .evaluate import Evaluation

if TYPE_CHECKING:
    from .commands import EvaluateSettings

CARD, POLICY = "README.md", "policy.safetensors"

MARK = "<!-- written by qwop-evaluate -->"
"""Line of a card that may be written anew."""

FIGURES = {
    "mean_return": "mean_reward", "finish_share": "finish_share", "median_seconds": "median_seconds",
    "best_seconds": "best_seconds",
}  # fmt: skip
"""Figures of an evaluation, with the names of the hub's metrics."""


def require_free(folder: Path) -> None:
    """BadInput if a card that is not ours is in the way, before anything is played."""
    path = folder / CARD
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        raise BadInput(f"{path}: a card that qwop-evaluate did not write, which stays; give out= another folder")


def write_card(folder: Path, policy: Path, evaluation: Evaluation, settings: "EvaluateSettings") -> Path:
    """Write the card into `folder`, with a copy of the policy's file beside it; returns the card's path."""
    content = policy.read_bytes()
    if not (folder / POLICY).exists() or (folder / POLICY).read_bytes() != content:
        write_atomic(folder / POLICY, content)
    return write_atomic(folder / CARD, _card(evaluation, settings, policy.stem))


def _card(evaluation: Evaluation, settings: "EvaluateSettings", name: str) -> str:
    tag, title = (re.sub(r"[^A-Za-z0-9/_.-]", "-", text) for text in (evaluation.environment.id, name))
    without = ("policy", "out", "card", "video")
    verify = command_line(f"qwop-evaluate policy={POLICY} video=false", settings.words, without=without)
    numbers = _numbers(evaluation.summary())
    metrics = "\n".join(
        f"    - type: {metric}\n      name: {figure}\n      value: {numbers[figure]}"
        for figure, metric in FIGURES.items()
        if figure in numbers
    )
    rows = "\n".join(f"| {figure.replace('_', ' ')} | {number} |" for figure, number in numbers.items())
    return f"""---
library_name: qwop
pipeline_tag: reinforcement-learning
tags:
- reinforcement-learning
- gymnasium
- "{tag}"
model-index:
- name: "{title}"
  results:
  - task:
      type: reinforcement-learning
    dataset:
      name: "{tag}"
      type: "{tag}"
    metrics:
{metrics}
---

{MARK}
# {name}

A policy for `{evaluation.environment}`. Software: `pip install 'qwop[train]'`.

| figure | value |
|---|---|
{rows}

This command plays the games of these figures again:

```sh
{verify}
```

In Python:

```python
import qwop

policy = qwop.load_policy("{POLICY}")
env = policy.environment.make()
observation, info = env.reset(seed=0)
actions, probabilities = policy.act(observation[None])
```
"""


def _numbers(figures: Mapping[str, Any]) -> dict[str, str]:
    """The figures that are single numbers, as text."""
    numbers = {name: value for name, value in figures.items() if isinstance(value, int | float)}
    return {name: f"{value:.4g}" if isinstance(value, float) else str(value) for name, value in numbers.items()}
