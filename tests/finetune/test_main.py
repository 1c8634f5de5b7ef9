"""`qwop-finetune` as a person uses it."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from qwop.common.folder_lock import exclusive_lock
from qwop.datasets.reader import open_dataset
from qwop.datasets.writer import DatasetWriter
from qwop.finetune import main
from qwop.finetune.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from qwop.finetune.log import read_metrics
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic

from ..fakes import untrained
from .fakes import CARTPOLE, make_episode, weights_of, write_games

Finetune = Callable[..., Any]
Tuned = Callable[..., str]

LOOP = ("loop.num_envs=4", "loop.capacity=32", "loop.start=8", "loop.value_decisions=160", "loop.log_every=160")
CLONE = ("policy=policy.safetensors", "demonstrations=demos", *LOOP, "video=false", "out=run")
RUN = (
    *CLONE, "schedule=kurodo-published", "schedule.scale=0.001", "loop.checkpoint_every=1000", "evaluation.episodes=4",
    "evaluation.drawn=3",
)  # fmt: skip


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A policy for CartPole and demonstrations of it."""
    save_policy(tmp_path / "policy.safetensors", untrained(CARTPOLE))
    write_games(tmp_path / "demos", CARTPOLE)
    return tmp_path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the run that `finished` copies, and its demonstrations."""
    return tmp_path_factory.mktemp("finished")


@pytest.fixture
def finished(tuned: Tuned, workplace: Path, kept: Path) -> Path:
    """The folder of RUN, which is over."""
    if not (kept / "run").exists():
        tuned(*RUN)
        for name in ("run", "demos"):
            shutil.copytree(workplace / name, kept / name)
    shutil.rmtree(workplace / "demos")  # the same games, whose files have other names
    shutil.copytree(kept, workplace, dirs_exist_ok=True)
    return workplace / "run"


def test_a_run_leaves_policy_log_evaluations_checkpoints_and_a_report(
    finetune: Finetune, tuned: Tuned, workplace: Path
) -> None:
    save_policy("policy.safetensors", replace(load_policy("policy.safetensors"), greedy=False, sharpness=5.0))
    done = tuned(*RUN)
    run = workplace / "run"
    trained = load_policy(run / "policy.safetensors")
    assert (trained.environment, trained.greedy, trained.sharpness) == (CARTPOLE, True, 1.0)  # of the network itself
    assert trained.training["command"] == "qwop-finetune"
    assert "out" not in trained.training["settings"]  # the same run elsewhere gives the same file
    assert len(list((run / "checkpoints").iterdir())) == 2
    names = [f"{name}.{kind}" for name in ("1-alone", "2-mixed", "3-alone_again") for kind in ("safetensors", "json")]
    assert {path.name for path in (run / "phases").iterdir()} == {"0-start.json", *names}
    before, after = (json.loads((run / "phases" / f"{name}.json").read_text()) for name in ("0-start", "3-alone_again"))
    assert (after["episodes"], after["drawn"]["episodes"]) == (4, 3)
    shown = done.splitlines()
    assert shown[-3].startswith(f"from start to end: mean return {before['mean_return']:.1f} → ")
    assert shown[-2].startswith("verdict: ")
    assert shown[-1] == f"next: qwop-evaluate policy={run.relative_to(workplace)}/policy.safetensors"
    shares = [row["memory/demonstrations"] for row in read_metrics(run)]
    assert (shares[0], max(shares), shares[-1]) == (0, 0.5, 0)
    page = (run / "report.html").read_text()
    assert "alone_again" in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is fetched
    assert list((run / "tensorboard").iterdir())
    assert "holds a run already" in finetune(*RUN).refusal()
    with exclusive_lock(run, "out"):
        assert "out=run: another process is writing there" in finetune(*RUN).refusal()


def test_a_run_can_leave_the_best_policy_that_it_evaluated(tuned: Tuned, workplace: Path) -> None:
    more = ("schedule.keep=best", "+schedule.phases.alone_again.evaluations=2", "loop.checkpoint_every=320")
    done = tuned(*RUN, *more)
    run = workplace / "run"
    found = {path.stem: json.loads(path.read_text()) for path in (run / "phases").iterdir() if path.suffix == ".json"}
    within = [name for name in found if name.startswith("3-alone_again-")]
    assert len(within) == 2
    best = max(found, key=lambda name: found[name]["mean_return"])
    kept = run / "start.safetensors" if best == "0-start" else run / "phases" / f"{best}.safetensors"
    assert (run / "policy.safetensors").read_bytes() == kept.read_bytes()
    assert f"kept the best policy evaluated: {kept.relative_to(workplace)}" in done
    assert f"in the end: mean return {found[best]['mean_return']:.1f}" in done
    assert [name for name in within if "drawn" in found[name]] == [name for name in within if name == best]
    page = (run / "report.html").read_text()
    assert all(name in page for name in within)
    assert f"<td>{best} (kept)</td>" in page
    assert re.search(r"<pre>qwop-finetune [^<]*schedule=kurodo", page)

    # A run that goes on from an earlier checkpoint evaluates the same again and leaves the same.
    before = contents(run)
    checkpoints(run / "checkpoints")[-1].unlink()
    tuned(*RUN, *more, "resume=true")
    assert contents(run) == before


def contents(run: Path) -> dict[str, bytes]:
    """All that a run leaves but settings, reports and times."""
    files = (path for path in run.rglob("*") if path.suffix in (".safetensors", ".checkpoint", ".json"))
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def test_a_run_that_stopped_before_its_first_checkpoint_starts_anew(
    finetune: Finetune, tuned: Tuned, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = (finished / "policy.safetensors").read_bytes()
    shutil.rmtree(finished)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("qwop.finetune.loop.save_checkpoint", interrupt)
        stopped = finetune(*RUN)
    assert stopped.code == 130
    assert "the same command with resume=true starts anew" in stopped.out
    tuned(*RUN, "resume=true")
    assert (finished / "policy.safetensors").read_bytes() == expected
    decisions = [row["decisions"] for row in read_metrics(finished)]
    assert decisions == sorted({*decisions})  # none of the first try


def damage(run: Path) -> None:
    newest = checkpoints(run / "checkpoints")[-1]
    altered = bytearray(newest.read_bytes())
    altered[len(altered) // 2] ^= 1
    newest.write_bytes(altered)


def put(**values: Any) -> Callable[[Path], None]:
    """Puts other values into the newest checkpoint."""

    def change(run: Path) -> None:
        newest = checkpoints(run / "checkpoints")[-1]
        state = load_checkpoint(newest)
        save_checkpoint(newest.parent, state["decisions"], {**state, **values})

    return change


@pytest.mark.parametrize(
    ("change", "refused", "said"),
    [
        # Killed before it was written.
        (lambda run: (run / "policy.safetensors").unlink(), False, "no film: video=false"),
        (
            damage,
            True,
            r"run/checkpoints/.*: not a checkpoint, or a damaged one.*; remove it to resume from an older one",
        ),
        (put(collector={"nothing": "of use"}), True, r"decisions-\d+.checkpoint: does not fit this run"),
        (lambda run: (run / "start.safetensors").unlink(), True, "run/start.safetensors: no such file; put back the"),
        (lambda run: (run / "config.yaml").write_text("seed: 1"), True, "run/config.yaml: no schedule"),
    ],
)
def test_a_run_whose_files_have_changed_leaves_the_same_policy_or_names_the_file(
    change: Callable[[Path], None], refused: bool, said: str, finetune: Finetune, finished: Path
) -> None:
    expected = (finished / "policy.safetensors").read_bytes()
    change(finished)
    done = finetune(*RUN, "resume=true")
    assert done.code == (2 if refused else 0), done.err
    assert re.search(said, done.err if refused else done.out)
    assert done.err.count("\n") == int(refused)
    if not refused:
        assert (finished / "policy.safetensors").read_bytes() == expected
        load_checkpoint(checkpoints(finished / "checkpoints")[-1])


def test_a_resumed_run_learns_from_the_demonstrations_that_it_began_with(
    finetune: Finetune, tuned: Tuned, finished: Path
) -> None:
    expected = (finished / "policy.safetensors").read_bytes()
    checkpoints(finished / "checkpoints")[-1].unlink()
    shutil.copytree(finished, finished.with_name("kept"))
    demos = open_dataset(finished.with_name("demos"))
    DatasetWriter(demos.folder, demos.info).write(make_episode(9, actions=2, shape=(4,)))
    more = tuned(*RUN, "resume=true")
    assert f"demonstrations: the first {len(demos)} games of demos, as the run began" in more
    assert (finished / "policy.safetensors").read_bytes() == expected

    shutil.rmtree(finished)
    finished.with_name("kept").rename(finished)
    shutil.rmtree(demos.folder)
    others = DatasetWriter(demos.folder, demos.info)
    for _ in demos.files:
        others.write(make_episode(9, actions=2, shape=(4,)))
    refused = finetune(*RUN, "resume=true").refusal()
    assert f"demos: the run began with {len(demos)} other demonstrations; put them back" in refused


def test_a_schedule_can_change_its_algorithm_and_goes_on_to_the_bit(tuned: Tuned, workplace: Path) -> None:
    (workplace / "act.yaml").write_text(
        "algorithm: acer\n"
        "phases:\n"
        "  mixed: {hours: 0.03, demonstrations: 1, imitation: 0.5}\n"
        "  alone: {hours: 0.03, algorithm: ppo-small}\n"
        "  slower: {hours: 0.03, learning_rate: 0.5}\n"
    )
    act = (*CLONE, "schedule=act.yaml", "loop.steps=20", "evaluation.episodes=2", "evaluation.drawn=0")
    tuned(*act)
    run = workplace / "run"
    assert {path.stem for path in (run / "phases").iterdir()} == {"0-start", "1-mixed", "2-alone", "3-slower"}
    trained = load_policy(run / "policy.safetensors")
    assert isinstance(trained.network, ActorCritic)
    assert trained.values is not None  # PPO's
    rows = read_metrics(run)
    decisions = [row["decisions"] for row in rows]
    assert decisions == sorted(decisions)
    assert decisions[-1] == 3 * 1040  # the line's games and steps hold in PPO's phases, too
    assert {row["phase"] for row in rows if "memory/demonstrations" in row} == {"mixed"}

    # Again from the checkpoint at the end of ACER's phase.
    first, last = checkpoints(run / "checkpoints")
    assert load_checkpoint(first)["decisions"] == 1040
    last.unlink()
    tuned(*act, "resume=true")
    same = load_policy(run / "policy.safetensors")
    assert torch.equal(weights_of(trained.network), weights_of(same.network))


EXAMPLES = Path(__file__).parents[2] / "examples"

UNTRAINED = (
    "policy=scratch", "environment=QWOP-v1", "evaluation.episodes=0", "evaluation.drawn=0", "video=false", "out=run",
)  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "kinds", "more", "finishes", "phase"),
    [
        ("QWOP-v1", ("runs", "falls"), (), 0, "2-second"),
        ("QWOP-v1", ("runs", "falls"), (), 1, "1-first"),
        ("CartPole-v1", ("untaught", "taught, kickstarting: 1.0"), (), None, "1-first"),
        ("CartPole-v1", ("untaught", "taught, kickstarting: 1.0"), ("teacher=policy.safetensors",), None, "2-second"),
    ],
)
def test_phases_follow_from_the_games_that_the_policy_finishes_or_from_a_teacher(
    environment: str, kinds: tuple[str, str], more: tuple[str, ...], finishes: int | None, phase: str,
    tuned: Tuned, workplace: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    games = SimpleNamespace(summary=lambda: {"finishes": finishes, "episodes": 31})
    monkeypatch.setattr(main, "games_of", lambda *_: games)
    first, second = (f"{{decisions: 16, only: {kind}}}" for kind in kinds)
    (workplace / "own.yaml").write_text(f"algorithm: ppo-small\nphases:\n  first: {first}\n  second: {second}\n")
    small = (*UNTRAINED, f"environment={environment}", "schedule=own.yaml", "loop.num_envs=1", "loop.steps=8", *more)
    for resume in ("resume=false", "resume=true"):  # which plays the policy that it began with: it chooses the same
        done = tuned(*small, resume)
        assert finishes is None or f"the policy finishes {finishes} of 31 games" in done
        assert [one.stem for one in (workplace / "run" / "phases").glob("*.safetensors")] == [phase]


@pytest.mark.slow
def test_what_is_typed_reaches_the_agent_of_each_phase_and_a_tiny_rate_learns_nothing(
    tuned: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Any] = []
    monkeypatch.setattr(main, "build", lambda run, make=main.build: built.append(run) or make(run))
    tuned(
        *UNTRAINED, "schedule=kurodo", "algorithm.learning_rate=1e-12", "algorithm.gamma=0.9", "algorithm.epochs=2",
        *LOOP, "loop.steps=4", "schedule.scale=0.0001", "schedule.keep=last", "schedule.phases.polish.evaluations=0",
    )  # fmt: skip
    found = [(one.algorithm.name, one.algorithm.gamma, one.loop.num_envs) for one in built]
    assert found == [("ppo", 0.9, 4), ("acer", 0.9, 4), ("ppo", 0.9, 4)]
    assert [one.algorithm.epochs for one in built if one.algorithm.name == "ppo"] == [2, 2]
    phases = {path.stem for path in (tmp_path / "run" / "phases").glob("*.safetensors")}
    assert phases == {"1-values", "2-alone", "3-watching", "4-mixed", "5-critic", "6-fade", "7-polish"}
    start, end = (load_policy(tmp_path / "run" / f"{name}.safetensors").network for name in ("start", "policy"))
    for name, weights in start.state_dict().items():  # the end has a Q head, too
        torch.testing.assert_close(end.state_dict()[name], weights, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_pupil_that_sees_pictures_resumes_to_the_bit_with_the_teacher_that_its_run_keeps(
    tuned: Tuned, tmp_path: Path
) -> None:
    champion, teacher, run = load_policy("champion"), tmp_path / "teacher.safetensors", tmp_path / "run"
    save_policy(teacher, champion)
    taught = (
        *UNTRAINED, "schedule=pictures", "schedule.scale=1e-3", "teacher=teacher.safetensors", "loop.num_envs=8",
        "loop.steps=20", "loop.log_every=160", "loop.checkpoint_every=480", "algorithm.hidden=[16]",
    )  # fmt: skip
    tuned(*taught)
    losses = [row["learner/kickstarting"] for row in read_metrics(run)]
    assert losses[-1] < losses[0] < 2.6
    whole = (run / "policy.safetensors").read_bytes()
    _, newest = checkpoints(run / "checkpoints")
    newest.unlink()
    save_policy(teacher, untrained(champion.environment))
    tuned(*taught, "resume=true")
    assert (run / "policy.safetensors").read_bytes() == whole


@pytest.mark.slow
@pytest.mark.needs(module="ale_py")
def test_sparse_rewards_are_looked_for_with_long_frame_skips_and_played_for_with_the_usual_ones(
    tuned: Tuned, tmp_path: Path
) -> None:
    tuned(
        *UNTRAINED, f"schedule={EXAMPLES / 'freeway.yaml'}", "environment=ALE/Freeway-v5", "schedule.scale=0.0005",
        "+schedule.phases.find.environment.time_limit=2", "loop.num_envs=2", "loop.steps=4", "algorithm.hidden=[8]",
    )  # fmt: skip
    policies = [load_policy(tmp_path / "run" / f"{name}.safetensors") for name in ("phases/1-find", "policy")]
    assert [policy.environment.settings["frameskip"] for policy in policies] == [20, 4]
