"""The functions of the package: cloning, training and evaluation from Python."""

import inspect
import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import qwop
import torch
from pandas.testing import assert_frame_equal
from qwop import BadInput, Collector, FinetuneResult, Phase, Policy, Schedule

BRIEF: dict[str, Any] = {
    "algorithm": "acer-small",
    "evaluation": {"episodes": 2, "drawn": 0},
    "loop": {"num_envs": 2, "steps": 16, "value_decisions": 0, "start": 2, "log_every": 32},
    "quiet": True,
}
PHASES = Schedule([Phase("mixed", decisions=64, demonstrations=1.0), Phase("alone", decisions=64)])


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "pole"
    with Collector(gymnasium.make("CartPole-v1"), folder, player="rule") as env:
        for seed in range(4):
            (_, _, angle, speed), _ = env.reset(seed=seed)
            for _ in range(60):
                (_, _, angle, speed), *_ = env.step(int(angle + speed > 0))
    return folder


@pytest.fixture(scope="module")
def clone(games: Path) -> qwop.CloneResult:
    return qwop.pretrain(games, epochs=2, games=2, hidden=[8], quiet=True)


def weights(policy: Policy) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in policy.network.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def train(policy: Policy, games: Path, **settings: Any) -> FinetuneResult:
    return qwop.finetune(policy, demonstrations=games, **{"schedule": PHASES, **BRIEF, **settings})


@pytest.mark.usefixtures("no_files")
def test_a_dataset_is_cloned_alike_in_either_form_and_a_clone_goes_on(games: Path, clone: qwop.CloneResult) -> None:
    again = qwop.pretrain(qwop.open_dataset(games), epochs=2, games=2, hidden=[8], quiet=True)
    assert same(weights(clone.policy), weights(again.policy))
    assert clone.policy.training == again.policy.training
    assert_frame_equal(clone.measures, again.measures)
    assert {"clone", "majority"} <= set(clone.measures.index)
    assert clone.games["episodes"].tolist() == [2, 2]
    assert clone.report.startswith("<!doctype html>")
    more = qwop.pretrain(games, policy=clone.policy, epochs=1, games=0, quiet=True)
    assert more.policy.network.hidden == (8,)  # type: ignore[attr-defined]
    assert not same(weights(again.policy), weights(more.policy))
    assert same(weights(again.policy), weights(clone.policy))


@pytest.mark.usefixtures("no_files")
def test_a_schedule_made_in_python_trains_a_policy(games: Path, clone: qwop.CloneResult) -> None:
    before, rows = weights(clone.policy), []
    torch.set_num_threads(3)
    run = train(clone.policy, games, callbacks=[lambda phase, decisions, row: rows.append((phase, decisions, row))])
    assert torch.get_num_threads() == 3
    torch.set_num_threads(1)
    assert same(before, weights(clone.policy))
    assert not same(before, weights(run.policy))
    assert run.log[["phase", "decisions"]].values.tolist() == [
        ["mixed", 32], ["mixed", 64], ["alone", 96], ["alone", 128],
    ]  # fmt: skip
    assert [[*row[:2]] for row in rows] == run.log[["phase", "decisions"]].values.tolist()
    assert [row["memory/demonstrations"] for *_, row in rows] == run.log["memory/demonstrations"].tolist()
    assert rows[-1][2]["memory/demonstrations"] == 0.0
    assert run.evaluations.phase.tolist() == ["start", "mixed", "alone"]
    assert (run.evaluations.episodes == 2).all()
    assert not {"games", "settings", "drawn"} & {*run.evaluations.columns}  # figures alone
    assert run.verdict
    assert not run.stopped
    assert "<h1>" in (run.report or "")


def test_a_callback_ends_a_run_that_goes_on_to_the_bit(games: Path, clone: qwop.CloneResult, tmp_path: Path) -> None:
    whole = train(clone.policy, games)
    stopped = train(clone.policy, games, out=tmp_path / "run", callbacks=[lambda phase, decisions, row: decisions < 64])
    assert stopped.stopped
    assert (stopped.verdict, stopped.report) == (None, None)
    assert stopped.log.decisions.tolist() == [32, 64]
    again = train(clone.policy, games, out=tmp_path / "run", resume=True)
    assert same(weights(whole.policy), weights(again.policy))
    assert again.log.decisions.tolist() == whole.log.decisions.tolist()
    assert (tmp_path / "run/report.html").read_text() == again.report
    assert "policy=" in (again.report or "")


def test_a_setting_reaches_the_run_whatever_its_form(games: Path, clone: qwop.CloneResult, tmp_path: Path) -> None:
    settings = {**BRIEF, "algorithm": {"name": "acer", "gamma": 0.9}, "schedule": "live-only"}
    run = train(clone.policy, games, **settings, **{"schedule.decisions": 32}, seed=7, out=tmp_path, video=False)
    import yaml

    document = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert document["algorithm"]["gamma"] == 0.9
    assert (document["schedule"]["decisions"], document["seed"], document["loop"]["num_envs"]) == (32, 7, 2)
    assert document["policy"] == str(tmp_path / "start.safetensors")
    assert same(weights(qwop.load_policy(document["policy"])), weights(clone.policy))
    last = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    assert run.log.to_dict("records")[-1]["learner/value"] == last["learner/value"]


WRONG = [
    ({"sed": 1}, "sed: no such setting; did you mean seed?"),
    ({"schedule": "kurod"}, "schedule=kurod: no such option; did you mean kurodo?"),
    ({"algorithm": {"name": "acer", "delt": 1}, "schedule": PHASES}, "algorithm.delt: no such setting; did you mean"),
    ({"teacher": object()}, "teacher: a object, expected a value such as the command line takes"),
    ({"policy": "nowhere.safetensors", "schedule": PHASES}, "nowhere.safetensors: no such file"),
    ({"seeds": 3, "schedule": PHASES}, "seeds=3: expected 1; qwop.compare trains with several seeds"),
]


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize(("settings", "complaint"), WRONG)
def test_a_wrong_setting_is_the_line_of_the_command(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        qwop.finetune(**settings, quiet=True)
    assert str(error.value).startswith(complaint)
    assert "\n" not in str(error.value)


def test_a_policy_is_evaluated(clone: qwop.CloneResult) -> None:
    counts: list[int] = []
    evaluation = qwop.evaluate(clone.policy, episodes=3, seed=5, greedy=False, progress=counts.append)
    assert (evaluation.summary()["episodes"], evaluation.settings.seed, counts[-1]) == (3, 5, 3)
    assert evaluation.table["reward"].tolist() == [game.reward for game in evaluation.results]
    shorter = qwop.evaluate(clone.policy, episodes=1, environment={"max_episode_steps": 4})
    assert shorter.table["decisions"].tolist() == [4]
    with pytest.raises(BadInput, match="episode: no such setting; did you mean episodes"):
        qwop.evaluate(clone.policy, episode=3)


def test_print_shows_the_figures_of_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    qwop.Print()("mixed", 2000, {"live/return": 12.5, "learner/value": 3.0})
    qwop.Print("learner/value")("mixed", 2000, {"live/return": 12.5, "learner/value": 3.0})
    assert capsys.readouterr().out == "mixed: 2,000 decisions, return 12.5\nmixed: 2,000 decisions, value 3\n"


@pytest.mark.parametrize("name", ["pretrain", "finetune", "compare"])
def test_a_package_is_called_like_its_function(name: str) -> None:
    module = getattr(qwop, name)
    assert inspect.ismodule(module)
    assert inspect.signature(module).parameters.keys() >= {"out"}


@pytest.fixture
def no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing may be left in the working folder."""
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []
