"""`qwop-pretrain`, as a user meets it."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from qwop.commands import pretrain as main
from qwop.common.errors import BadInput, EnvironmentFailed
from qwop.policies.files import load_policy
from qwop.pretrain.main import run


def pretrain(*overrides: str) -> None:
    """`qwop-pretrain` without a process of its own."""
    run(main.read(["epochs=15", "games=3", *overrides]))


def test_clones_measures_and_plays(make_dataset: Callable[[int], Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    dataset = make_dataset(12)
    pretrain(f"dataset={dataset}", f"out={out}", "splits=2")
    found = json.loads((out / "pretraining.json").read_text())
    clone, majority = found["held_out"]["clone"], found["held_out"]["majority"]
    assert clone["accuracy"] > majority["accuracy"] + 0.2
    assert clone["nats"] < majority["nats"]
    assert not set(found["splits"][0]["episodes"]) & set(found["splits"][1]["episodes"])
    greedy, drawn = found["games"]
    assert (greedy["episodes"], greedy["greedy"], drawn["greedy"]) == (3, True, False)
    assert greedy["mean_return"] > 30
    policy = load_policy(out / "policy.safetensors")
    assert policy.environment.id == "CartPole-v1"
    assert policy.training["command"] == "qwop-pretrain"
    assert (out / "config.yaml").is_file()
    assert list((out / "tensorboard").iterdir())
    page = (out / "report.html").read_text()
    assert f"qwop-pretrain epochs=15 games=3 dataset={dataset} out={out} splits=2" in page  # as it was typed
    assert "splits: 2" in page
    assert 'aria-label="share of games, by return"' in page
    assert page.count("<th>greedy</th>") == page.count("<td>repeat the last action</td>") == 1
    assert "mean return" in page
    assert "metres" not in page  # of games that have none
    assert not re.search(r'(src|href)="(?!data:)', page)


@pytest.mark.needs(module="d3rlpy")
def test_clones_with_d3rlpy_into_the_same_kind_of_file(make_dataset: Callable[[int], Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    pretrain(f"dataset={make_dataset(12)}", f"out={out}", "backend=d3rlpy", "games=0")
    found = json.loads((out / "pretraining.json").read_text())["held_out"]
    assert found["clone"]["accuracy"] > found["majority"]["accuracy"] + 0.2
    assert load_policy(out / "policy.safetensors").actions == 2


@pytest.mark.parametrize(
    ("episodes", "override", "message"),
    [
        (6, "epochs=0", "epochs=0: expected a whole number from 1"),
        (6, "splits=9", "splits=9"),
        (6, "backend=jax", "backend=jax"),
        (6, "hidden=[]", r"hidden=\[\]"),
        (6, "dataset=nowhere", "nowhere: no such folder"),
        (0, "seed=1", "the dataset has no episodes yet"),
        (6, "backend=d3rlpy", r"pip install 'qwop\[d3rlpy\]'"),
        pytest.param(
            6, "backend=d3rlpy label_smoothing=0.02", r"label_smoothing=0\.02: DiscreteBC has no such setting",
            marks=pytest.mark.needs(module="d3rlpy"),
        ),
        (-6, "seed=1", "its bytes are not those of the digest"),
    ],
)  # fmt: skip
def test_what_cannot_be_cloned_is_refused_before_anything_is_written(
    make_dataset: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episodes: int, override: str,
    message: str,
) -> None:  # fmt: skip
    """episodes: negative for one that is damaged."""
    dataset = make_dataset(abs(episodes))
    if episodes < 0:
        (path,) = dataset.glob("episodes/episode-000004-*")
        path.write_bytes(path.read_bytes()[:-1])
    if "label" not in override:
        monkeypatch.setattr("qwop.pretrain.d3rlpy_backend.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=message):
        pretrain(f"dataset={dataset}", f"out={tmp_path / 'run'}", *override.split())
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_has_the_policy_of_its_best_pass(
    make_dataset: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def interrupted(*_: object) -> Iterator[float]:
        yield 1.0
        raise KeyboardInterrupt

    monkeypatch.setattr("qwop.pretrain.clone.cloning_epochs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pretrain(f"dataset={make_dataset(6)}", f"out={tmp_path / 'run'}")
    assert load_policy(tmp_path / "run" / "policy.safetensors").actions == 2
    assert not (tmp_path / "run" / "pretraining.json").exists()
    assert "the best pass so far is in" in capsys.readouterr().out
    # The same command makes it anew; another one leaves it.
    with pytest.raises(BadInput, match="holds a policy already"):
        pretrain(f"dataset={make_dataset(6)}", f"out={tmp_path / 'run'}", "epochs=3")
    with pytest.raises(KeyboardInterrupt):
        pretrain(f"dataset={make_dataset(6)}", f"out={tmp_path / 'run'}")


def test_an_environment_that_fails_leaves_the_policy_unmeasured(
    make_dataset: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(CartPoleEnv, "step", lambda env, action: 1 / 0)
    with pytest.raises(EnvironmentFailed, match="its step failed"):
        pretrain(f"dataset={make_dataset(6)}", f"out={tmp_path / 'run'}", "epochs=1")
    assert load_policy(tmp_path / "run" / "policy.safetensors").actions == 2
    assert "unmeasured; the same command makes it anew" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (None, "Environment `CartPole` doesn't exist.*; games=0 clones without playing"),
        ("MountainCar-v0", r"it has float32 \[2\] and 3 actions, but the dataset has float32 \[4\] and 2; .*games=0"),
    ],
)
def test_an_environment_that_is_not_as_recorded_is_refused_before_the_cloning(
    now: str | None,
    message: str,
    make_dataset: Callable[[int], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = make_dataset(6)
    if now is None:
        for name in ("CartPole-v0", "CartPole-v1"):
            monkeypatch.delitem(gymnasium.registry, name)
    else:
        monkeypatch.setitem(gymnasium.registry, "CartPole-v1", gymnasium.spec(now))
    with pytest.raises(BadInput, match=message):
        pretrain(f"dataset={dataset}", f"out={tmp_path / 'run'}")
    assert not (tmp_path / "run").exists()
    pretrain(f"dataset={dataset}", f"out={tmp_path / 'run'}", "games=0", "epochs=1")


def test_a_single_episode_is_cloned_and_its_measures_are_marked(
    make_dataset: Callable[[int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pretrain(f"dataset={make_dataset(1)}", f"out={tmp_path / 'run'}", "games=0", "epochs=2")
    assert load_policy(tmp_path / "run" / "policy.safetensors").actions == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "decisions of the only episode, which the clone learned from" in said
    assert "of the decisions that it learned from, as there is no other game" in said


def test_a_training_that_diverges_is_refused_in_a_line(make_dataset: Callable[[int], Path], tmp_path: Path) -> None:
    dataset = make_dataset(6)
    for setting, said in (
        ("learning_rate=1e30", r"lower learning_rate \(1e\+30\) or weight_decay \(0\.1\)"),
        ("weight_decay=1e38", r"lower learning_rate \(0\.002\) or weight_decay \(1e\+38\)"),
    ):
        with pytest.raises(BadInput, match=rf"^the training diverges, .*; {said}$"):
            pretrain(f"dataset={dataset}", f"out={tmp_path / 'run'}", setting, "epochs=2")
    assert not (tmp_path / "run" / "policy.safetensors").exists()
