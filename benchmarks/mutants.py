"""Mutation testing of the learning code: faults, put into a copy of the source one by one, and tests to notice.

    python benchmarks/mutants.py
    python benchmarks/mutants.py --only acer --out mutants.md
    python benchmarks/mutants.py --generated 150 --seed 0

A mutant is killed if the tests beside the changed file fail, or take for ever. The named ones are mistakes that someone
could make in what connects the formulas: a term left out, a factor not passed on, a sign; those of `wiring_faults.py`
are of what connects the learners: values restored on resuming, what a phase passes on. `--generated` draws
mechanical ones from all of the learning code instead. Prints a line for each and the score, and exits with 1 if one
survives.

The tests of each folder first run without a fault. Then a fork of this process, which has imported what is never
changed, runs them for each mutant, the quick ones first; those that take longer than `--longest` are left out.
"""

import argparse
import contextlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from generated_mutants import sample
from wiring_faults import WIRING, Mutant

ROOT = Path(__file__).parents[1]
COPIED = shutil.ignore_patterns(
    ".git", "runs", "data", "site", "__pycache__", ".*_cache", ".hypothesis", ".venv", "build"
)

LEARNING = ("finetune/agents", "finetune/replay", "finetune/experience", "finetune/schedules")
"""Folders whose code is changed mechanically."""

UNCHANGED = (
    "torch",
    "torch._dynamo",  # the first optimiser imports it
    "hydra",
    "hypothesis",
    "qwop.envs",
    "qwop.policies.files",
    "qwop.datasets.writer",
    "qwop.evaluation.evaluate",
)
"""Imported once, before any mutant: slow to import, and never changed."""

PATIENCE = 60.0
"""Seconds more than three times what the tests take without a fault, before a mutant counts as one that never ends."""


SURVIVED = "SURVIVED"

OWN_FILES_ONLY = ("tests/finetune",)
"""Folders whose subfolders have tests of other files."""

FIRST = ("test_wiring.py", "test_update.py", "test_losses.py")
"""Tests that run before the others in their folder: they notice most."""


class Fault(Protocol):
    """A change of one file."""

    @property
    def name(self) -> str: ...
    @property
    def file(self) -> str: ...
    def applied(self, source: str) -> str:
        """The source with the fault."""
        ...


LEARNER = "finetune/agents/acer/learner.py"
LOSSES = "finetune/agents/acer/losses.py"
AGENT = "finetune/agents/acer/agent.py"
PPO = "finetune/agents/ppo/learner.py"
PPO_DENSE = "finetune/agents/ppo/dense_gradients.py"
DQN = "finetune/agents/dqn/learner.py"
DQN_AGENT = "finetune/agents/dqn/agent.py"
RLPD = "finetune/agents/rlpd/learner.py"
RLPD_AGENT = "finetune/agents/rlpd/agent.py"

MUTANTS = (
    Mutant(
        "acer: values at a time limit are 0", LOSSES, "torch.where(stopped, final_values, 0.0)", "0.0 * final_values"
    ),
    Mutant("acer: no trust region", LEARNER, "acer.trust_region(g, direction, self.settings.delta)", "g"),
    Mutant("acer: the average network is the network", LOSSES, "1.0 - alpha)", "1.0)"),
    Mutant(
        "acer: rewards are not scaled",
        LEARNER,
        "self._by_step(batch.rewards) * self.settings.reward_scale,",
        "self._by_step(batch.rewards),",
    ),
    Mutant("acer: gradients are not clipped", LEARNER, "self.settings.max_gradient_norm)", "1e9)"),
    Mutant(
        "acer: no bias correction", LOSSES, "(1.0 - c / rho).clamp_(min=0.0)", "(1.0 - c / rho).clamp_(min=0.0) * 0.0"
    ),
    Mutant("acer: a hundred times the entropy", LEARNER, "weight = entropy *", "weight = 100 * entropy *"),
    Mutant("acer: values are not bounded", LEARNER, "values = self._bounded(unbounded)", "values = unbounded"),
    Mutant("acer: targets are not bounded", LEARNER, "rho, self._bounded(q_ret),", "rho, q_ret,"),
    Mutant("acer: bounds of unscaled rewards", LEARNER, "scale = self.settings.reward_scale", "scale = 1.0"),
    Mutant(
        "acer: imitates live play",
        LEARNER,
        "weights = demonstrated * self._imitation_weights(batch, targets)",
        "weights = self._imitation_weights(batch, targets)",
    ),
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
    Mutant(
        "acer: imitation has a weight of 1",
        LEARNER,
        "alpha=now.imitation)",
        "alpha=1.0)",
    ),
    Mutant(
        "acer: memory is kept in another environment",
        AGENT,
        "            self.memory.remove(source)",
        "            pass",
    ),
    Mutant("acer: returns are kept in another environment", AGENT, "        self._returns.restart()\n", ""),
    Mutant(
        "acer: returns of demonstrations do not count",
        AGENT,
        "returns.add_episode(episode.rewards, run.schedule.values.gamma)",
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
    Mutant("ppo: entropy is punished", PPO, "- weight * bonus", "+ weight * bonus"),
    Mutant("ppo: no clipping of ratios", PPO, "advantage, self.settings.clip)", "advantage, 1e9)"),
    Mutant("ppo, by hand: entropy is punished", PPO_DENSE, "slope + weight *", "slope - weight *"),
    Mutant("ppo, by hand: no clipping of ratios", PPO_DENSE, "advantage, settings.clip)", "advantage, 1e9)"),
    Mutant("ppo, by hand: imitation has a weight of 1", PPO_DENSE, "mul_(now.imitation / ", "mul_(1.0 / "),
    Mutant("ppo, by hand: imitates actions", PPO_DENSE, "if shown.probabilities is not None:", "if False:"),
    Mutant("ppo, by hand: the teacher has a weight of 1", PPO_DENSE, ", alpha=now.kickstarting)", ")"),
    Mutant(
        "ppo, by hand: steps of the critic alone move the policy",
        PPO_DENSE,
        "None if now.critic_only else view",
        "view",
    ),
    Mutant(
        "ppo: the learning rate does not follow the phase",
        PPO,
        "self.settings.learning_rate * now.learning_rate",
        "self.settings.learning_rate",
    ),
    Mutant("ppo: imitation has a weight of 1", PPO, "now.imitation * named[", "named["),
    Mutant(
        "ppo: imitates actions, not probabilities",
        PPO,
        "shown.actions, probabilities=shown.probabilities",
        "shown.actions",
    ),
    Mutant(
        "ppo, vtrace, ftw: statistics move before the ratios",
        "finetune/agents/running_scale.py",
        "        if first:\n            self._add(played)",
        "        self._add(played)",
    ),
    Mutant(
        "dqn: priorities are never updated", DQN_AGENT, "self.memory.update(sample.slots, errors.cpu().numpy())", "pass"
    ),
    Mutant(
        "dqn: the target chooses the action",
        DQN,
        "q: Tensor = self.network(following)",
        "q: Tensor = self.target(following)",
    ),
    Mutant("dqn: imitates live play", DQN, "(batch.source == DEMONSTRATIONS)", "(batch.source >= 0)"),
    Mutant(
        "dqn, rlpd: steps wait across a pause",
        "finetune/agents/q_learning.py",
        "        if not phase.live:\n            self._n_step.restart()\n",
        "        pass\n",
    ),
    Mutant("dqn: the target is never copied", DQN_AGENT, "                self.learner.copy_target()\n", ""),
    Mutant(
        "rlpd: the subset is every member", "finetune/agents/rlpd/losses.py", "q_next_target[subset]", "q_next_target"
    ),
    Mutant(
        "rlpd: the greatest of the subset", "finetune/agents/rlpd/losses.py", "taken.min(dim=0)", "taken.max(dim=0)"
    ),
    Mutant(
        "rlpd: the target is the network",
        RLPD,
        "self.target.member_values(following)",
        "self.network.member_values(following)",
    ),
    Mutant(
        "rlpd: the target never moves",
        RLPD,
        "        rlpd.move_towards(self.target, self.network, self.settings.tau)\n",
        "",
    ),
    Mutant("rlpd: imitates live play", RLPD, "demonstrated * margin_loss", "margin_loss"),
    Mutant(
        "rlpd: demonstrations are never removed",
        RLPD_AGENT,
        "now.demonstrations / (1.0 + now.demonstrations) if now.live",
        "0.5 if now.live",
    ),
    Mutant("rlpd: all of a batch is demonstrations", RLPD_AGENT, "if now.live else 1.0", "if not now.live else 1.0"),
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


@dataclass
class Tests:
    """Pytest plugin: runs the tests of a folder in the order of the seconds that they take.

    known: seconds by test, from the run without a fault; None in that run. Tests that take more than `longest` are left
    out, unless it is None.
    """

    known: dict[str, float] | None = None
    longest: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.known is None:
            return
        took = self.known
        kept = [item for item in items if self.longest is None or took.get(item.nodeid, 0.0) <= self.longest]
        items[:] = sorted(kept, key=lambda item: (item.path.name not in FIRST, took.get(item.nodeid, 0.0)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, metavar="N", help="N mechanical mutants instead of the named ones")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of mechanical mutants")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--longest", type=float, default=5.0, help="seconds of a test that may take part")
    parser.add_argument("--out", type=Path, help="write the lines to this file, too")
    asked = parser.parse_args()
    faults: list[Fault] = [*MUTANTS, *WIRING]
    if asked.generated is not None:
        faults = list(sample(ROOT, LEARNING, asked.generated, asked.seed))
    chosen = [fault for fault in faults if asked.only in fault.name]
    out = None if asked.out is None else asked.out.resolve()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "source"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=COPIED)
        prepare(copy)
        runs = {tests: without_fault(tests) for tests in dict.fromkeys(map(tests_beside, chosen))}
        start = time.perf_counter()
        for fault in chosen:
            lines.append(f"{fate(fault, copy, runs[tests_beside(fault)], asked.longest)}: {fault.name}")
            print(lines[-1], flush=True)
        seconds = time.perf_counter() - start
        os.chdir(ROOT)
    number = sum(not line.startswith(SURVIVED) for line in lines)
    lines.append(f"{number} of {len(chosen)} killed")
    print(f"{lines[-1]}, in {seconds:.0f} s")
    if out is not None:
        out.write_text("\n".join(lines) + "\n")
    return int(number < len(chosen))


def prepare(copy: Path) -> None:
    """Go to the copy, whose package comes before the installed one from now on, and import what no mutant changes."""
    os.chdir(copy)
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy / ".typing"))
    for name in UNCHANGED:
        importlib.import_module(name)


def tests_beside(fault: Fault) -> str:
    """The folder of tests that mirrors that of the changed file."""
    return f"tests/{Path(fault.file).parent.as_posix()}"


def without_fault(tests: str) -> dict[str, float]:
    """The seconds that each test of a folder takes; exits if one fails."""
    code, seconds = run(tests, Tests(), timeout=3600.0)
    if code != 0:
        sys.exit(f"{tests}: fails without any fault, and would notice all of them; mend it first")
    return seconds


def fate(fault: Fault, copy: Path, known: dict[str, float], longest: float) -> str:
    """Fate of a fault: 'killed' by a test, 'killed by time', or survived; the copy is as before afterwards."""
    path = copy / fault.file
    source = path.read_text()
    path.write_text(fault.applied(source))
    timeout = PATIENCE + 3.0 * sum(one for one in known.values() if one <= longest)
    try:
        code, _ = run(tests_beside(fault), Tests(known, longest), timeout)
        return {0: SURVIVED, -9: "killed by time"}.get(code, "killed")
    finally:
        path.write_text(source)


def run(tests: str, plugin: Tests, timeout: float) -> tuple[int, dict[str, float]]:
    """Run a folder of tests in a fork, up to the first failure: its exit code, and the seconds of each test.

    A fork that is not done in time is killed, and its code is that of the signal.
    """
    told = Path("seconds.json")
    told.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where threads run: those of torch sleep
        child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            _work(tests, plugin, told)
        os._exit(3)
    deadline = time.monotonic() + timeout
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            done = os.waitpid(child, 0)
            break
        time.sleep(0.05)
    return os.waitstatus_to_exitcode(done[1]), json.loads(told.read_text()) if told.exists() else {}


def _work(tests: str, plugin: Tests, told: Path) -> None:
    """The fork's part: run the tests, write their seconds to `told`, and end with pytest's exit code."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    files = sorted(map(str, Path(tests).glob("test_*.py"))) if tests in OWN_FILES_ONLY else [tests]
    arguments: list[Any] = ["-x", "-q", "-m", "not exhaustive", "-p", "no:cacheprovider", *files]
    code = int(pytest.main(arguments, plugins=[plugin]))
    told.write_text(json.dumps(plugin.seconds))
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
