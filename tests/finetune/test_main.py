"""The command as a person uses it."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.folder_lock import exclusive_lock
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

CARTPOLE = EnvironmentSpec("CartPole-v1")

Finetune = Callable[..., Any]

SMALL = (
    "+schedule=kurodo-published",
    "schedule.scale=0.001",
    "loop.num_envs=4",
    "loop.capacity=32",
    "loop.start=8",
    "loop.value_decisions=160",
    "loop.log_every=160",
    "loop.checkpoint_every=1000",
    "evaluation.episodes=4",
    "evaluation.drawn=3",
)


RUN = ("policy=policy.safetensors", "demonstrations=demos", *SMALL, "out=run", "video=false")


@pytest.fixture
def workplace(tmp_path: Path, demonstrations: Path, make_episode: Callable[..., Episode]) -> Path:
    """A policy for CartPole, demonstrations of it, and demonstrations of something else."""
    network = ActorCritic(4, 2, (16,), torch.Generator().manual_seed(0))
    save_policy(tmp_path / "policy.safetensors", Policy(network, CARTPOLE, ObservationSpec((4,))))
    other = DatasetInfo(EnvironmentSpec("CartPole-v1", {"max_episode_steps": 50}), ObservationSpec((4,)), 2)
    DatasetWriter(tmp_path / "other", other).write(make_episode(9, actions=2, shape=(4,)))
    return tmp_path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the run that `finished` copies, and its demonstrations."""
    return tmp_path_factory.mktemp("finished")


@pytest.fixture
def finished(finetune: Finetune, workplace: Path, kept: Path) -> Path:
    """The folder of RUN, which is over."""
    if not (kept / "run").exists():
        assert finetune(*RUN).code == 0
        for name in ("run", "demos"):
            shutil.copytree(workplace / name, kept / name)
    shutil.rmtree(workplace / "demos")  # the same games, whose files have other names
    shutil.copytree(kept, workplace, dirs_exist_ok=True)
    return workplace / "run"


def test_a_run_leaves_policy_log_evaluations_checkpoints_and_a_report(finetune: Finetune, workplace: Path) -> None:
    save_policy("policy.safetensors", replace(load_policy("policy.safetensors"), greedy=False, sharpness=5.0))
    done = finetune("policy=policy.safetensors", "demonstrations=demos", *SMALL, "out=run")
    assert done.code == 0, done.err
    run = workplace / "run"
    trained = load_policy(run / "policy.safetensors")
    assert trained.environment == CARTPOLE
    assert (trained.greedy, trained.sharpness) == (True, 1.0)  # learning goes on from the network's own probabilities
    assert trained.training["command"] == "qwop-finetune"
    assert trained.training["settings"]["seed"] == 0
    assert "out" not in trained.training["settings"]  # the same run elsewhere gives the same file
    assert len(list((run / "checkpoints").iterdir())) == 2
    assert {path.name for path in (run / "phases").iterdir()} == {
        "0-start.json",
        *(f"{name}.{kind}" for name in ("1-alone", "2-mixed", "3-alone_again") for kind in ("safetensors", "json")),
    }
    before = json.loads((run / "phases" / "0-start.json").read_text())
    shown = done.out.splitlines()
    assert next(line for line in shown if line.startswith("start: mean return"))
    assert shown[-3].startswith(f"from start to end: mean return {before['mean_return']:.1f} → ")
    assert shown[-2].startswith(("verdict: learned", "verdict: no clear gain: ", "verdict: became worse: "))
    assert shown[-1] == f"next: qwop-evaluate policy={run.relative_to(workplace)}/policy.safetensors"
    evaluation = json.loads((run / "phases" / "3-alone_again.json").read_text())
    assert (evaluation["episodes"], evaluation["drawn"]["episodes"]) == (4, 3)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [rows[i]["memory/demonstrations"] > 0 for i in (0, -1)] == [False, False]
    assert any(row["memory/demonstrations"] == 0.5 for row in rows)
    page = (run / "report.html").read_text()
    assert "share of memory" in page
    assert "alone_again" in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is fetched
    assert list((run / "tensorboard").iterdir())

    again = finetune("policy=policy.safetensors", "demonstrations=demos", *SMALL, "out=run")
    assert again.code == 2
    assert "holds a run already" in again.err
    resumed = finetune(
        "policy=policy.safetensors", "demonstrations=demos", *SMALL, "out=run", "resume=true", "video=false",
    )  # fmt: skip
    assert resumed.code == 0, resumed.err
    same = load_policy(run / "policy.safetensors").network.state_dict()
    for name, weights in trained.network.state_dict().items():
        assert torch.equal(weights, same[name])


def test_a_run_can_leave_the_best_policy_that_it_evaluated(finetune: Finetune, workplace: Path) -> None:
    arguments = (
        "policy=policy.safetensors", "demonstrations=demos", *SMALL, "out=run", "schedule.keep=best",
        "+schedule.phases.alone_again.evaluations=2", "loop.checkpoint_every=320",
    )  # fmt: skip
    done = finetune(*arguments)
    assert done.code == 0, done.err
    run = workplace / "run"
    found = {path.stem: json.loads(path.read_text()) for path in (run / "phases").iterdir() if path.suffix == ".json"}
    within = [name for name in found if name.startswith("3-alone_again-")]
    assert len(within) == 2
    best = max(found, key=lambda name: found[name]["mean_return"])
    kept = run / "start.safetensors" if best == "0-start" else run / "phases" / f"{best}.safetensors"
    assert (run / "policy.safetensors").read_bytes() == kept.read_bytes()
    assert f"kept the best policy evaluated: {kept.relative_to(workplace)}" in done.out
    assert [name for name in within if "drawn" in found[name]] == [name for name in within if name == best]
    start, end = found["0-start"], found[best]
    said = done.out.splitlines()[-3]
    assert said.startswith(f"from start to end: mean return {start['mean_return']:.1f} → {end['mean_return']:.1f}")
    page = (run / "report.html").read_text()
    assert all(name in page for name in within)
    assert f"<td>{best} (kept)</td>" in page
    assert re.search(r"<pre>qwop-finetune [^<]*schedule=kurodo", page)

    # A run that goes on from an earlier checkpoint evaluates the same again and leaves the same.
    last = checkpoints(run / "checkpoints")[-1]
    shutil.rmtree(last) if last.is_dir() else last.unlink()
    shutil.copy(run / "start.safetensors", run / "phases" / "3-alone_again-999999.safetensors")
    later = {**found["0-start"], "mean_return": 1e6, "decisions": 999_999}
    (run / "phases" / "3-alone_again-999999.json").write_text(json.dumps(later))
    before = kept.read_bytes()
    assert finetune(*arguments, "resume=true").code == 0
    assert (run / "policy.safetensors").read_bytes() == before


def test_a_run_that_stopped_before_its_first_checkpoint_starts_anew(
    finetune: Finetune, finished: Path, monkeypatch: pytest.MonkeyPatch
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
    resumed = finetune(*RUN, "resume=true")
    assert resumed.code == 0, resumed.err
    assert (finished / "policy.safetensors").read_bytes() == expected
    rows = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [row["decisions"] for row in rows] == sorted({row["decisions"] for row in rows})  # none of the first try


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
        (
            lambda run: (run / "policy.safetensors").unlink(),
            False,
            "no film: the schedule was over already",
        ),  # killed before it was written
        (damage, False, r"warning: run/checkpoints/.*: not a checkpoint, or a damaged one.*; an older one is read"),
        (put(collector={"nothing": "of use"}), True, r"decisions-\d+.checkpoint: does not fit this run"),
        (put(phase=99), True, r"checkpoint: does not fit this run \(ValueError: phase 99 is none of the schedule's"),
        (put(phase=-1), True, r"checkpoint: does not fit this run \(ValueError: phase -1 is none of the schedule's"),
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
    finetune: Finetune, finished: Path, make_episode: Callable[..., Episode]
) -> None:
    expected = (finished / "policy.safetensors").read_bytes()
    checkpoints(finished / "checkpoints")[-1].unlink()
    shutil.copytree(finished, finished.with_name("kept"))
    demos = open_dataset(finished.with_name("demos"))
    DatasetWriter(demos.folder, demos.info).write(make_episode(9, actions=2, shape=(4,)))
    more = finetune(*RUN, "resume=true")
    assert more.code == 0, more.err
    assert f"demonstrations: the first {len(demos)} games of demos, as the run began" in more.out
    assert (finished / "policy.safetensors").read_bytes() == expected

    shutil.rmtree(finished)
    finished.with_name("kept").rename(finished)
    shutil.rmtree(demos.folder)
    others = DatasetWriter(demos.folder, demos.info)
    for _ in demos.files:
        others.write(make_episode(9, actions=2, shape=(4,)))
    refused = finetune(*RUN, "resume=true")
    assert refused.code == 2
    assert f"demos: the run began with {len(demos)} other demonstrations; put them back" in refused.err
    assert len(refused.err.splitlines()) == 1


def test_a_second_run_in_the_same_folder_is_refused(finetune: Finetune, workplace: Path) -> None:
    with exclusive_lock(workplace / "run", "out"):
        second = finetune("policy=policy.safetensors", "demonstrations=demos", *SMALL, "out=run")
    assert second.code == 2
    assert "out=run: another process is writing there" in second.err


def test_a_run_that_is_over_goes_on_with_a_phase_more(finetune: Finetune, workplace: Path) -> None:
    arguments = (
        "policy=policy.safetensors", "demonstrations=demos", *SMALL[1:-2], "+schedule=live-only",
        "evaluation.episodes=0", "out=run", "loop.log_every=1000",
    )  # fmt: skip
    assert finetune(*arguments).code == 0
    film = workplace / "run" / "best.mp4"
    film.write_bytes(b"film")
    nothing_left = finetune(*arguments, "resume=true")
    assert nothing_left.code == 0
    assert "the schedule was over already" in nothing_left.out
    assert film.exists()
    longer = (*arguments, "resume=true", "+schedule.phases.shown={hours: 10, demonstrations: 1}")
    done = finetune(*longer)
    assert done.code == 0, done.err
    assert not film.exists()  # of the policy before
    run = workplace / "run"
    assert {path.name for path in (run / "phases").iterdir()} == {"1-alone.safetensors", "2-shown.safetensors"}
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["phase"] for row in rows if row["memory/demonstrations"] > 0][-1] == "shown"
    before = [row["decisions"] for row in rows if row["phase"] == "alone"][-1]
    assert rows[-1]["decisions"] == pytest.approx(before + 324, abs=80)


def test_a_phase_that_has_not_begun_may_still_change(finetune: Finetune, workplace: Path) -> None:
    arguments = ("policy=policy.safetensors", "demonstrations=demos", *SMALL, "evaluation.episodes=0", "out=run")
    half = ("schedule.phases.mixed.hours=0", "schedule.phases.alone_again.hours=0")
    assert finetune(*arguments, *half).code == 0
    done = finetune(*arguments, "resume=true", "schedule.phases.alone_again.hours=5")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (workplace / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["phase"] for row in rows][-1] == "alone_again"
    assert "mixed" in {row["phase"] for row in rows}


@pytest.mark.parametrize(
    ("algorithm", "games", "more"), [("acer-small", 8, ["loop.value_decisions=160"]), ("ppo-small", 8, [])]
)
def test_the_small_algorithms_are_the_others_with_fewer_games_at_once(
    finetune: Finetune, workplace: Path, algorithm: str, games: int, more: list[str]
) -> None:
    done = finetune(
        "policy=scratch", "environment=CartPole-v1", f"algorithm={algorithm}", "+schedule=live-only",
        "schedule.scale=0.0001", "evaluation.episodes=0", "out=run", *more)  # fmt: skip
    assert done.code == 0, done.err
    used = load_policy(workplace / "run" / "policy.safetensors").training["settings"]
    assert used["algorithm"]["name"] == algorithm.removesuffix("-small")
    assert (used["algorithm"]["gamma"], used["loop"]["num_envs"]) == (0.995, games)
    assert used["loop"]["overlap"] is (algorithm == "acer-small")  # what they do not say is as in the other


def test_a_new_policy_can_be_trained_in_any_environment(finetune: Finetune, workplace: Path) -> None:
    done = finetune(
        "policy=scratch",
        "environment=CartPole-v1",
        "algorithm=acer",
        *SMALL[1:],
        "+schedule=live-only",
        "evaluation.episodes=0",
        "out=run",
    )
    assert done.code == 0, done.err
    assert "algorithm=acer has the settings for QWOP" in done.out
    policy = load_policy(workplace / "run" / "policy.safetensors")
    assert policy.probabilities(np.zeros((1, 4), dtype=np.float32)).shape == (1, 2)


NEXT = "leave it out where it is set: on the command line or in a file, such as a schedule's"


def test_in_another_environment_a_schedule_leaves_out_what_it_has_for_its_own(
    finetune: Finetune, workplace: Path
) -> None:
    small = [one for one in SMALL if "schedule" not in one]
    run = ("policy=policy.safetensors", "demonstrations=demos", "schedule=kurodo", *small, "video=false", "out=run")
    done = finetune(*run, "schedule.scale=0.00001")
    assert done.code == 0, done.err
    assert "made for QWOP-v1; in CartPole-v1 it leaves out reward, fall_penalty, restarts" in done.out
    assert load_policy(workplace / "run" / "policy.safetensors").environment == CARTPOLE
    heavy = ("schedule.phases.polish.environment.gravity=1", "schedule.phases.polish.imitation=0")
    wrong = finetune(*run, *heavy, "out=heavy")
    assert (wrong.code, wrong.err) == (2, f"qwop-finetune: environment CartPole-v1: no setting gravity; {NEXT}\n")
    wrong = finetune(*run, "schedule.environment=null", "out=reward")
    assert (wrong.code, wrong.err) == (2, f"qwop-finetune: environment CartPole-v1: no setting reward; {NEXT}\n")


def test_a_schedule_can_change_its_algorithm_and_goes_on_to_the_bit(finetune: Finetune, workplace: Path) -> None:
    schedule = workplace / "act.yaml"
    schedule.write_text(
        "algorithm: acer\n"
        "phases:\n"
        "  mixed: {hours: 0.03, demonstrations: 1, imitation: 0.5}\n"
        "  alone: {hours: 0.03, algorithm: ppo-small}\n"
        "  slower: {hours: 0.03, learning_rate: 0.5}\n"
    )
    small = [one for one in SMALL if "schedule" not in one]
    arguments = (
        "schedule=act.yaml", "policy=policy.safetensors", "demonstrations=demos", *small, "loop.steps=20",
        "loop.checkpoint_every=10000", "video=false",
    )  # fmt: skip
    done = finetune(*arguments, "out=run")
    assert done.code == 0, done.err
    run = workplace / "run"
    names = {path.stem for path in (run / "phases").iterdir()}
    assert names == {"0-start", "1-mixed", "2-alone", "3-slower"}
    trained = load_policy(run / "policy.safetensors")
    assert isinstance(trained.network, ActorCritic)
    assert trained.values is not None  # PPO's
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    decisions = [row["decisions"] for row in rows]
    assert decisions == sorted(decisions)
    assert decisions[-1] == 3 * 1040  # the line's games and steps hold in PPO's phases, too
    assert {row["phase"] for row in rows if "memory/demonstrations" in row} == {"mixed"}

    # Again from the checkpoint at the end of ACER's phase.
    first, last = checkpoints(run / "checkpoints")
    assert load_checkpoint(first)["decisions"] == 1040
    last.unlink()
    resumed = finetune(*arguments, "out=run", "resume=true")
    assert resumed.code == 0, resumed.err
    same = load_policy(run / "policy.safetensors")
    for name, weights in trained.network.state_dict().items():
        assert torch.equal(weights, same.network.state_dict()[name])
