import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.commands import record as main
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy
from qwop.recorder.main import run

from ..fakes import until, untrained

COMMAND = str(Path(sysconfig.get_path("scripts")) / "qwop-record")

DEMOS = Path(__file__).parents[2].parent / "shared" / "demos"


def record(*overrides: str) -> None:
    """Run `qwop-record` in this process."""
    run(main.read(overrides))


@pytest.fixture
def demo(tmp_path: Path, make_demo: Callable[..., Any]) -> Path:
    path = tmp_path / "demo.npz"
    np.savez(path, **make_demo(np.repeat([0, 9, 6], 40)))
    return path


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "cartpole.safetensors"
    return save_policy(path, untrained(EnvironmentSpec("CartPole-v1")))


def test_the_configuration_of_every_recording_is_kept(cartpole: Path, tmp_path: Path) -> None:
    for episodes in (2, 3):
        words = ("source=policy", f"source.policy={cartpole}", f"source.episodes={episodes}")
        record(*words, f"dataset={tmp_path / 'dataset'}")
    kept = sorted((tmp_path / "dataset" / "aside").glob("recording-*.yaml"))
    assert ["episodes: 2" in kept[0].read_text(), "episodes: 3" in kept[1].read_text(), len(kept)] == [True, True, 2]
    assert len(open_dataset(tmp_path / "dataset")) == 5


REFUSED = [
    ("page source.epsilon=0", "epsilon=0"),
    ("page source.player=" + 120 * "x", r"source.player=x+…: expected a name of 1 to 100 characters"),
    ("page source.port=70000", "port=70000"),
    ("page source.ghost=no/such/dataset", "no/such/dataset"),
    ("page source.policy={pole}", r"plays CartPole-v1\(\), not QWOP; give source=environment"),
    ("environment source.id=QWOP-v1", "source=page plays QWOP"),
    ("environment source.id=Pendulum-v1", r"expected Discrete\(n\)"),
    ("environment source.id=NoSuchThing-v0", "NoSuchThing"),
    ("environment source.id=no_such_module:CartPole-v1", "the module no_such_module cannot be imported"),
    ("environment source.id=CartPole-v1 source.actions.Up=1", "Up is no key"),
    ("environment source.id=CartPole-v1 source.policy=champion", r"give source\.id=QWOP-v1"),
    ("browser", r"source\.url and source\.folder: neither given"),
    ("browser source.folder=nowhere", r"source\.folder=nowhere"),
    ("import", r"source\.files is not set"),
    ("import source.files=demo.npz", r"source\.files=demo\.npz: expected paths"),
    ("import source.files=[{demo}] +source.speed=2", r"source\.speed: no such setting"),
    ("policy source.episodes=5", r"source\.policy is not set"),
    ("policy source.policy=nothing.safetensors", r"nothing\.safetensors: no such file"),
    ("policy source.policy={pole} source.num_envs=0", "num_envs=0: expected a whole number from 1"),
    ("policy source.policy=champion source.environment.rewards=speed", "rewards: no such setting; did you mean reward"),
    ("policy source.policy={pole} source.max_idle_frames=5", r"source\.max_idle_frames=5: CartPole-v1 has no idle"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), REFUSED, ids=[line for line, _ in REFUSED])
def test_bad_settings_write_nothing(demo: Path, cartpole: Path, tmp_path: Path, line: str, message: str) -> None:
    words = f"source={line}".format(demo=demo, pole=cartpole).split()
    with pytest.raises(BadInput, match=message) as caught:
        record(*words, f"dataset={tmp_path / 'dataset'}")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "dataset").exists()


def started(cartpole: Path, folder: Path) -> "subprocess.Popen[str]":
    """Start a recording of many games and wait until it has written some."""
    words = ["source=policy", f"source.policy={cartpole}", "source.episodes=100000", "source.num_envs=4"]
    process = subprocess.Popen(
        [COMMAND, *words, f"dataset={folder}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: len([*folder.glob("episodes/episode-*.parquet")]) >= 20 or process.poll() is not None, 120)
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("how", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow)],
)
def test_an_interrupted_recording_keeps_every_finished_game_and_can_go_on(
    cartpole: Path, tmp_path: Path, how: signal.Signals, code: int
) -> None:
    process = started(cartpole, tmp_path)
    process.send_signal(how)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert "Traceback" not in err
    episodes = list(open_dataset(tmp_path))
    if how != signal.SIGKILL:
        assert f"stopped; all finished games are in {tmp_path}" in out
        assert err.strip() == "qwop-record: interrupted"
    numbers = sorted(episode.origin.game or 0 for episode in episodes)
    assert len(numbers) >= 20
    assert numbers[-1] < len(numbers) + 4  # all but those of the 4 games under way

    record("source=policy", f"source.policy={cartpole}", "source.episodes=3", f"dataset={tmp_path}")
    assert len(open_dataset(tmp_path)) == len(episodes) + 3


@pytest.mark.skipif(
    len([*DEMOS.glob("kuro_try[1-4].npz")]) != 4,
    reason="the published recordings are not shared here (../shared/demos)",
)
def test_the_four_files_of_kurodo_give_40_episodes(tmp_path: Path) -> None:
    record("source=import", f"source.files=[{DEMOS}/kuro_try*.npz]", f"dataset={tmp_path / 'kurodo'}")
    dataset = open_dataset(tmp_path / "kurodo")
    assert len(dataset) == 40
    assert dataset.info.environment.settings == {"frames_per_step": 3, "reward": "shaped", "observation_lag": 1}
    summary = dataset.summary()
    assert summary.outcomes == {"finished": 31, "fell": 9}
    assert summary.steps.sum() == 18049 - 40
    # Half of the actions repeat the one before; the commonest is 22 % of all.
    assert summary.action_counts.max() / summary.action_counts.sum() == pytest.approx(0.22, abs=0.005)


def test_games_are_not_recorded_into_the_folder_of_a_run(cartpole: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("seed: 0\n")
    with pytest.raises(BadInput, match=r"^dataset=.*run: holds a run, not a dataset; give dataset= another folder$"):
        record("source=policy", f"source.policy={cartpole}", f"dataset={tmp_path / 'run'}")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("", "data/me"),
        ("source.player=AC/DC", "data/AC-DC"),
        ("source.player=../../me", "data/..-..-me"),
        ("source=keys source.files=[*.txt]", "data/me"),
        ("source=keys source.files=[*.txt] source.player=ada", "data/ada"),
        ("source=environment source.id=CartPole-v1", "data/me-CartPole-v1"),
        ("source=environment source.id=gymnasium.envs.classic_control:CartPole-v1", "data/me-CartPole-v1"),
        ("source=import source.files=[*.npz] source.player=kurodo", "data/kurodo"),
        ("source=policy source.policy=champion", "data/policy"),
        ("source=keyboard", "data/me"),
        ("source=keys dataset=games", "games"),
    ],
)
def test_each_source_has_a_folder(line: str, folder: str) -> None:
    assert main.read(line.split()).folder == folder
