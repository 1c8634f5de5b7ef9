"""Mutation testing of the learning code: named faults, put into a copy of the source one by one, and tests to notice.

    python benchmarks/mutants.py
    python benchmarks/mutants.py --only acer --out mutants.md

A mutant is killed if the tests beside the changed file fail. Every mutant is a mistake that someone could make in what
connects the formulas: a term left out, a factor not passed on, a sign. Prints a line for each and the score, and exits
with 1 if one survives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = shutil.ignore_patterns(".git", "runs", "data", "site", "__pycache__", ".*_cache", ".venv", "build")

FIRST = ("test_wiring.py", "test_update.py", "test_losses.py")
"""Tests that run before the others in their folder: quick ones that notice most."""


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `before` (which occurs exactly once) becomes `after`."""

    name: str
    file: str
    before: str
    after: str

    @property
    def tests(self) -> str:
        """The folder of tests that mirrors the file's."""
        return f"tests/{Path(self.file).parent}"


LEARNER = "finetune/agents/acer/learner.py"
LOSSES = "finetune/agents/acer/losses.py"
AGENT = "finetune/agents/acer/agent.py"
PPO = "finetune/agents/ppo/learner.py"
DDQN = "finetune/agents/dqn/learner.py"
DDQN_AGENT = "finetune/agents/dqn/agent.py"

MUTANTS = (
    Mutant(
        "acer: values at a time limit are 0", LOSSES, "torch.where(stopped, final_values, 0.0)", "0.0 * final_values"
    ),
    Mutant("acer: no trust region", LEARNER, "acer.trust_region(g, direction, self.settings.delta)", "g"),
    Mutant("acer: the average network is the network", LOSSES, "1.0 - alpha)", "1.0)"),
    Mutant(
        "acer: rewards are not scaled",
        LEARNER,
        "self._tensor(batch.rewards) * self.settings.reward_scale,",
        "self._tensor(batch.rewards),",
    ),
    Mutant("acer: gradients are not clipped", LEARNER, "self.settings.max_gradient_norm)", "1e9)"),
    Mutant(
        "acer: no bias correction", LOSSES, "(1.0 - c / rho).clamp_(min=0.0)", "(1.0 - c / rho).clamp_(min=0.0) * 0.0"
    ),
    Mutant("acer: a hundred times the entropy", LEARNER, "weight = entropy *", "weight = 100 * entropy *"),
    Mutant("acer: values are not bounded", LEARNER, "values = self._bounded(unbounded)", "values = unbounded"),
    Mutant("acer: targets are not bounded", LEARNER, "rho, self._bounded(q_ret),", "rho, q_ret,"),
    Mutant("acer: bounds of unscaled rewards", LEARNER, "scale = self.settings.reward_scale", "scale = 1.0"),
    Mutant("acer: imitates live play", LEARNER, "cross_entropy * demonstrated.unsqueeze(-1)", "cross_entropy"),
    Mutant("acer: critic_only moves the policy", LEARNER, 'if not name.startswith("q_head.")', "if False"),
    Mutant(
        "acer: μ is not renewed when sampled",
        AGENT,
        "batch = self._behaviour.at_sampling(batch, self.learner.probabilities)",
        "pass",
    ),
    Mutant(
        "acer: μ is not set when inserted",
        AGENT,
        "self._behaviour.at_insertion(self._demonstrations.next(count), self.learner.probabilities)",
        "self._demonstrations.next(count)",
    ),
    Mutant("acer: imitation is not passed on", AGENT, "imitation=now.imitation,", "imitation=0.0,"),
    Mutant(
        "acer: memory is kept in another environment",
        AGENT,
        "            self.memory.remove(source)",
        "            pass",
    ),
    Mutant("acer: γ is kept in another environment", AGENT, "        self.learner.at_rate(decisions_per_second)\n", ""),
    Mutant("acer: γ of any rate at the start", AGENT, "    learner.at_rate(context.decisions_per_second)\n", ""),
    Mutant("acer: returns are kept in another environment", AGENT, "        self._returns.restart()\n", ""),
    Mutant(
        "acer: returns of demonstrations do not count",
        AGENT,
        "returns.add_episode(episode.rewards, learner.settings.gamma)",
        "pass",
    ),
    Mutant("acer: memory is sampled at once", AGENT, "len(self.memory) < self._settings.start", "False"),
    Mutant(
        "acer: demonstrations are never removed",
        AGENT,
        "            self.memory.remove(DEMONSTRATIONS)",
        "            pass",
    ),
    Mutant(
        "acer: live play stays in a phase without", AGENT, "            self.memory.remove(LIVE)", "            pass"
    ),
    Mutant(
        "ppo: advantages are not standardised",
        PPO,
        "(estimates - estimates.mean()) / (estimates.std() + 1e-8)",
        "estimates",
    ),
    Mutant("ppo: entropy is punished", PPO, "- entropy_weight * bonus", "+ entropy_weight * bonus"),
    Mutant("ppo: no clipping of ratios", PPO, "advantage, self.settings.clip).mean()", "advantage, 1e9).mean()"),
    Mutant(
        "ppo: the learning rate does not follow the phase",
        PPO,
        "self.settings.learning_rate * learning_rate",
        "self.settings.learning_rate",
    ),
    Mutant("ppo: imitation has a weight of 1", PPO, "imitation * more[", "more["),
    Mutant(
        "ppo: imitates actions, not probabilities",
        PPO,
        "self._tensor(rows.actions), probabilities=probabilities",
        "self._tensor(rows.actions)",
    ),
    Mutant(
        "ppo: imitation is not passed on", "finetune/agents/ppo/agent.py", "imitation=now.imitation,", "imitation=0.0,"
    ),
    Mutant(
        "ppo: statistics move before the ratios",
        PPO,
        "        if first:\n            self._standardise(played)",
        "        self._standardise(played)",
    ),
    Mutant("ddqn: priorities are never updated", DDQN_AGENT, "self.memory.update(sample.slots, errors)", "pass"),
    Mutant("ddqn: β stays", DDQN_AGENT, "self._beta = linear(a.beta_start, 1.0, decisions / planned)", "pass"),
    Mutant(
        "ddqn: the target chooses the action",
        DDQN,
        "q_next = self.network(following)",
        "q_next = self.target(following)",
    ),
    Mutant("ddqn: imitation is not passed on", DDQN_AGENT, "imitation=now.imitation,", "imitation=0.0,"),
    Mutant("ddqn: imitates live play", DDQN, "imitation * demonstrated *", "imitation *"),
    Mutant(
        "ddqn: steps wait across a pause",
        DDQN_AGENT,
        "        if not phase.live:\n            self._n_step.restart()\n",
        "",
    ),
    Mutant("ddqn: the target is never copied", DDQN_AGENT, "                self.learner.copy_target()\n", ""),
    Mutant(
        "cloning: actions instead of probabilities",
        "pretrain/cloning.py",
        "demonstrated = (probabilities * log_probabilities).sum(-1)",
        "demonstrated = log_probabilities.gather(-1, actions[:, None])[:, 0]",
    ),
    Mutant(
        "cloning: probabilities are not used",
        "pretrain/cloning.py",
        "rows.probabilities if settings.soft_targets else None",
        "None",
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--out", type=Path, help="write the lines to this file, too")
    asked = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if asked.only in mutant.name]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "source"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=COPIED)
        for tests in dict.fromkeys(mutant.tests for mutant in chosen):
            if failing(tests, copy):
                sys.exit(f"{tests}: fails without any fault, and would notice all of them; mend it first")
        for mutant in chosen:
            lines.append(f"{'killed' if killed(mutant, copy) else 'SURVIVED'}: {mutant.name}")
            print(lines[-1], flush=True)
    dead = sum(line.startswith("killed") for line in lines)
    lines.append(f"{dead} of {len(chosen)} killed")
    print(lines[-1])
    if asked.out is not None:
        asked.out.write_text("\n".join(lines) + "\n")
    return int(dead < len(chosen))


def killed(mutant: Mutant, copy: Path) -> bool:
    """True if the tests fail with the fault; the copy is as before afterwards."""
    path = copy / mutant.file
    source = path.read_text()
    path.write_text(mutated(mutant, source))
    try:
        return failing(mutant.tests, copy)
    finally:
        path.write_text(source)


def failing(tests: str, copy: Path) -> bool:
    """True if a test of this folder fails in the copy; RuntimeError if they do not run."""
    # The copy comes before the installed package.
    environment = {**os.environ, "PYTHONPATH": str(copy / ".typing"), "PYTHONDONTWRITEBYTECODE": "1"}
    first = [f"{tests}/{name}" for name in FIRST if (copy / tests / name).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *first, tests]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{tests}: the tests did not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def mutated(mutant: Mutant, source: str) -> str:
    """The source with the fault; ValueError unless its place is found exactly once."""
    if source.count(mutant.before) != 1:
        raise ValueError(
            f"{mutant.name}: {mutant.before!r} occurs {source.count(mutant.before)} times in {mutant.file}"
        )
    return source.replace(mutant.before, mutant.after)


if __name__ == "__main__":
    sys.exit(main())
