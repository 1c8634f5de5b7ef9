"""`qwop-coach`: rounds of correcting, learning and measuring."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from qwop.coach.main import record_round, seconds_of
from qwop.coach.settings import CoachSettings
from qwop.commands import coach as main
from qwop.common.errors import BadInput
from qwop.common.progress import plain_console
from qwop.datasets import embedded_dataset, open_dataset
from qwop.datasets.control import Branch
from qwop.envs.spec import EnvironmentSpec
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.files import load_policy, save_policy
from qwop.policies.policy import Policy
from qwop.recorder.settings import RecorderPageSettings

from ..benchmarks.scripts import load_script
from ..fakes import untrained as new_policy


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    spec = EnvironmentSpec("QWOP-v1", {"observation": "contact", "frames_per_step": 2, "reward": "race"})
    return untrained(spec, tmp_path / "start.safetensors")


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that puts a scripted person, who plays as a policy does, in the place of the page."""
    script = load_script("scripted_person")

    def use(person: str | Path = "champion") -> None:
        def opened(page: RecorderPageSettings, folder: Path) -> Any:
            settings = script.ScriptedSettings(page.policy, str(person), seed=page.seed, minutes=1000.0)
            return script.open_scripted(settings, folder)

        monkeypatch.setattr("qwop.coach.main.open_source", opened)

    return use


def untrained(spec: EnvironmentSpec, path: Path, seed: int = 1, certain: float = 1.0) -> Path:
    """File of a new policy, its logits multiplied by `certain`."""
    policy = new_policy(spec, seed)
    with torch.no_grad():
        policy.network.policy_head.weight *= certain
    return save_policy(path, policy)


def test_the_play_of_a_game_lasts_by_its_clock_from_where_it_left_another_one() -> None:
    game = open_dataset(embedded_dataset())[0]
    assert seconds_of(game, 30.0) == pytest.approx(game.times[-1] - game.times[0])
    branch = replace(game, branch=Branch(0, 900))
    assert seconds_of(branch, 30.0) == pytest.approx(branch.times[-1] - branch.times[900])


def test_without_a_policy_a_clone_of_the_champions_games_is_corrected(
    run_command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mock(side_effect=BadInput("stopped"))
    monkeypatch.setattr("qwop.pretrain.main.run", made)
    run_command(main, f"out={tmp_path / 'coach'}", "open=false")
    assert made.call_args.args[0].dataset == "champion"


@pytest.mark.parametrize(
    ("words", "before", "said"),
    [
        ("policy=none.safetensors", {}, "none.safetensors"),
        ("policy={policy}", {"round-1/before.safetensors": b"another"}, "began with another one"),
        (
            "policy={policy}",
            {"round-1/before.safetensors": None, "config.yaml": b"games: 1\n"},
            "rounds/policy.safetensors: missing, though a round has begun; put it back",
        ),
    ],
)
def test_rounds_that_cannot_begin_or_go_on_change_no_policy(
    policy: Path,
    tmp_path: Path,
    run_command: Callable[..., Any],
    words: str,
    before: dict[str, bytes | None],
    said: str,
) -> None:
    """before: files in the folder of the rounds; None stands for the policy."""
    out = tmp_path / "rounds"
    files = {out / name: content or policy.read_bytes() for name, content in before.items()}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    done = run_command(main, *words.format(policy=policy).split(), f"out={out}")
    assert done.code == 2
    assert said in done.err
    assert "round 1" not in done.out
    assert all(path.read_bytes() == content for path, content in files.items() if path.suffix == ".safetensors")
    assert out.exists() is bool(files)


def test_a_round_in_which_nobody_corrected_anything_is_played_on(
    tmp_path: Path, run_command: Callable[..., Any], scripted: Callable[..., None]
) -> None:
    policy, out = untrained(EnvironmentSpec("CartPole-v1"), tmp_path / "policy.safetensors"), tmp_path / "rounds"
    scripted(person=policy)
    words = [f"policy={policy}", f"out={out}", "minutes=0.05"]
    lengths = []
    for _ in range(2):
        done = run_command(main, *words)
        assert done.code == 2
        assert "nobody corrected the policy, so there is nothing to learn; the same command plays on" in done.err
        lengths.append(len(open_dataset(out / "round-1" / "games")))
    assert 0 < lengths[0] < lengths[1]


def test_the_page_is_that_of_the_policys_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = untrained(EnvironmentSpec("CartPole-v1"), tmp_path / "policy.safetensors")
    opened = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr("qwop.coach.main.open_source", opened)
    with pytest.raises(KeyboardInterrupt):
        record_round(CoachSettings(seed=7), policy, tmp_path / "games", 1, plain_console())
    assert opened.call_args.args[0].id == "CartPole-v1"
    assert opened.call_args.args[0].seed == 8


def test_a_round_interrupted_while_it_learned_is_not_played_on(
    policy: Path, tmp_path: Path, run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Path] = []

    def record_round(_: CoachSettings, policy: Path, folder: Path, *__: object) -> None:
        played.append(folder)

    def learn(settings: Any) -> None:
        Path(settings.out).mkdir(exist_ok=True)
        raise KeyboardInterrupt

    monkeypatch.setattr("qwop.coach.main.record_round", record_round)
    monkeypatch.setattr("qwop.coach.main.is_corrected", lambda folder: True)
    monkeypatch.setattr("qwop.coach.main.finetune.run", learn)
    for _ in range(2):  # Ctrl-C had ended the play early, and then the learning
        assert run_command(main, f"policy={policy}", f"out={tmp_path / 'rounds'}").code == 130
    assert played == [tmp_path / "rounds" / "round-1" / "games"]


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        ((3, 50.0), (4, 60.0), True),
        ((3, 50.0), (3, 49.0), True),
        ((3, 50.0), (3, 50.0), False),
        ((3, 50.0), (2, 40.0), False),
    ],
)
def test_a_round_replaces_the_policy_only_by_a_better_one(
    policy: Path,
    tmp_path: Path,
    run_command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    before: tuple[int, float],
    after: tuple[int, float],
    better: bool,
) -> None:
    out, learned = tmp_path / "rounds", untrained(load_policy(policy).environment, tmp_path / "learned", seed=2)
    asked: list[EvaluationSettings] = []

    def played(one: Policy, games: EvaluationSettings, **more: object) -> Mock:
        asked.append(games)
        same = torch.equal(one.network.policy_head.weight, load_policy(policy).network.policy_head.weight)
        finishes, median = before if same else after
        figures = {"episodes": 4, "finishes": finishes, "median_seconds": median, "mean_metres": 90.0}
        return Mock(summary=lambda: figures)

    monkeypatch.setattr("qwop.coach.main.record_round", lambda *_: None)
    monkeypatch.setattr("qwop.coach.main.is_corrected", lambda folder: True)
    monkeypatch.setattr("qwop.coach.main._learn", lambda *_: learned)
    monkeypatch.setattr("qwop.coach.main.evaluate", played)
    done = run_command(main, f"policy={policy}", f"out={out}", "games=4", "seed=3")
    assert done.code == 0, done.err
    assert asked == [EvaluationSettings(episodes=4, seed=3, greedy=False)] * 2
    assert ("the policy before stays" in done.out) is not better
    assert (out / "policy.safetensors").read_bytes() == (learned if better else policy).read_bytes()
    assert json.loads((out / "round-1" / "result.json").read_text())["better"] is better


@pytest.mark.slow
def test_two_rounds(
    policy: Path, tmp_path: Path, run_command: Callable[..., Any], scripted: Callable[..., None]
) -> None:
    scripted()
    out = tmp_path / "rounds"
    words = [f"out={out}", "decisions=8000", "games=4"]
    first = run_command(main, f"policy={policy}", *words, "minutes=0.05")
    assert first.code == 0, first.err
    assert "round 1: finished" in first.out
    second = run_command(main, *words, "minutes=3", "clone=true")  # long enough for the games that cloning needs
    assert second.code == 0, second.err
    assert [(out / f"round-{number}" / "cloned").exists() for number in (1, 2)] == [False, True]
    results = [json.loads((out / f"round-{number}" / "result.json").read_text()) for number in (1, 2)]
    assert [one["round"] for one in results] == [1, 2]
    assert load_policy(out / "policy.safetensors").environment.id == "QWOP-v1"
    assert open_dataset(out / "round-2" / "games").shares_control


@pytest.mark.slow
def test_another_environment_is_coached(
    tmp_path: Path, run_command: Callable[..., Any], scripted: Callable[..., None]
) -> None:
    spec, out = EnvironmentSpec("CartPole-v1"), tmp_path / "rounds"
    policy = untrained(spec, tmp_path / "policy.safetensors")
    person = untrained(spec, tmp_path / "person.safetensors", seed=2, certain=1000.0)  # knows what looks wrong
    scripted(person)
    words = [f"policy={policy}", f"out={out}", "decisions=5000", "games=4"]
    done = run_command(main, *words, "minutes=0.2")
    assert done.code == 0, done.err
    assert "round 1: mean return" in done.out
    assert "gamma: 0.995" in (out / "round-1" / "learned" / "config.yaml").read_text()  # of a learner for such ones
