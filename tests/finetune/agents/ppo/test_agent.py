"""PPO in the training loop, on CartPole: phases in environments of their own, resuming, and that it learns."""

from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.ppo.learner import new_network
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.log import RunLog, read_metrics
from qwop.finetune.loop import Loop, build
from qwop.finetune.schedules.environments import phase_environments
from qwop.finetune.schedules.phase import PUBLISHED_RATE, Phase, Ramp
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy
from torch import Tensor

from ...runs import Observer, make_run

HOUR = 3600 * PUBLISHED_RATE  # decisions, where an environment has no clock
CARTPOLE = EnvironmentSpec("CartPole-v1", {"max_episode_steps": 60})

PHASES = (
    Phase("short", 400 / HOUR, environment={"max_episode_steps": 5}),
    Phase("long", 400 / HOUR, environment={"max_episode_steps": 100}, entropy=Ramp(0.5, 0.0)),
    Phase("still long", 400 / HOUR, learning_rate=Ramp(1.0, 0.0)),
)


class Ends(Observer):
    """The phases that the run is in when others have ended."""

    def __init__(self) -> None:
        self.loop: Any = None
        self.phases: list[int] = []

    def add(self, *_: object, within: bool) -> None:
        self.phases.append(self.loop.phase_index)


def make(
    folder: Path,
    phases: tuple[Phase, ...] = PHASES,
    seed: int = 0,
    resume: bool = False,
    spec: EnvironmentSpec = CARTPOLE,
    algorithm: PpoSettings | None = None,
    **loop: Any,
) -> tuple[Loop, Actor, list[int]]:
    algorithm = algorithm or PpoSettings(hidden=(16,), minibatch=20)
    network = new_network(algorithm)(4, 2, torch.Generator().manual_seed(seed))
    live = PpoLoopSettings(
        **{"num_envs": 4, "steps": 10, "overlap": True, "log_every": 120, "checkpoint_every": 280} | loop
    )
    found = checkpoints(folder / "checkpoints") if resume else []
    state = load_checkpoint(found[-1]) if found else None
    log = RunLog(folder)
    log.open(resume_at=state["decisions"] if state else None)
    ends = Ends()
    policy = Policy(network, spec, ObservationSpec((4,)))
    made = ends.loop = build(make_run(phases, algorithm, live, policy, None, log, folder, ends, seed=seed))
    if state:
        made.set_state(state)
    return made, network, ends.phases


def weights(network: Any) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if not name.startswith(("time", "speed"))}
        for row in read_metrics(folder)
    ]


def test_settings_of_the_environment_hold_from_their_phase_on() -> None:
    found = [spec.settings["max_episode_steps"] for spec in phase_environments(CARTPOLE, PHASES)]
    assert found == [5, 100, 100]
    assert CARTPOLE.settings == {"max_episode_steps": 60}


@pytest.mark.parametrize("overlap", [True, False])
def test_every_phase_is_played_in_its_environment(tmp_path: Path, overlap: bool) -> None:
    loop, _, ends = make(tmp_path, overlap=overlap)
    loop.run()
    assert ends == [1, 2, 2]
    ended = [row for row in rows_of(tmp_path) if "live/decisions" in row]
    length = {row["phase"]: row["live/decisions"] for row in ended}
    assert length["short"] == 5.0
    assert length["long"] > 12.0
    assert {row["live/decisions"] == 5.0 for row in ended if row["phase"] != "short"} == {False}


def test_a_phase_cannot_change_what_is_observed() -> None:
    phases = (Phase("a", 1.0), Phase("b", 1.0, environment={"observation": "full"}))
    algorithm = PpoSettings(hidden=(16,))
    policy = Policy(new_network(algorithm)(71, 11, torch.Generator()), EnvironmentSpec(), ObservationSpec((71,)))
    with pytest.raises(BadInput, match="cannot change the observations"):
        build(make_run(phases, algorithm, PpoLoopSettings(num_envs=2), policy))


def test_a_schedule_that_is_over_can_be_continued_by_a_phase(tmp_path: Path) -> None:
    whole, network, _ = make(tmp_path / "whole", checkpoint_every=400, overlap=False)
    whole.run()
    part, _, _ = make(tmp_path / "part", PHASES[:2], checkpoint_every=400, overlap=False)
    part.run()
    assert part.finished
    assert part.phase_index == 1
    assert [path.name for path in checkpoints(tmp_path / "part" / "checkpoints")][
        -1
    ] == "decisions-000000000800.checkpoint"
    longer, other, ends = make(tmp_path / "part", resume=True, checkpoint_every=400, overlap=False)
    longer.run()
    assert ends == [2]
    assert longer.decisions == 1200
    assert torch.equal(weights(network), weights(other))
    assert rows_of(tmp_path / "whole") == rows_of(tmp_path / "part")


@pytest.mark.parametrize("overlap", [True, False])
def test_a_phase_that_is_added_begins_in_its_own_environment(tmp_path: Path, overlap: bool) -> None:
    """QWOP's games are kept in checkpoints, so that the one more at the end changes nothing."""
    phases = (
        Phase("shaped", 640 / 36000, environment={"reward": "race", "shaping": 1.5, "time_limit": 2.0}),
        Phase("nothing", 0.0),
        Phase("faster", 480 / 54000, environment={"frames_per_step": 2, "shaping": 0.0}),
    )
    spec = EnvironmentSpec("QWOP-v1", {"observation": "full"})

    def run(folder: Path, phases: tuple[Phase, ...], resume: bool = False) -> tuple[Loop, Actor]:
        algorithm = PpoSettings(hidden=(16,), minibatch=80)
        network = new_network(algorithm)(94, 11, torch.Generator().manual_seed(0))
        live = PpoLoopSettings(num_envs=8, steps=20, overlap=overlap)
        state = load_checkpoint(checkpoints(folder / "checkpoints")[-1]) if resume else None
        log = RunLog(folder)
        log.open(resume_at=state["decisions"] if state else None)
        policy = Policy(network, spec, ObservationSpec((94,)))
        loop = build(make_run(phases, algorithm, live, policy, None, log, folder))
        if state:
            loop.set_state(state)
        loop.run()
        return loop, network

    _, network = run(tmp_path / "whole", phases)
    part, _ = run(tmp_path / "part", phases[:2])
    assert part.phase_index == 0
    _, other = run(tmp_path / "part", phases, resume=True)
    assert torch.equal(weights(network), weights(other))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_learns_to_balance_a_pole(tmp_path: Path, seed: int) -> None:
    loop, _, _ = make(
        tmp_path,
        (Phase("alone", 40_000 / HOUR, learning_rate=Ramp(1.0, 0.1)),),
        seed=seed,
        spec=EnvironmentSpec("CartPole-v1"),
        algorithm=PpoSettings(gamma=0.99, hidden=(64, 64), minibatch=256, epochs=4, learning_rate=4e-3),
        num_envs=16,
        steps=64,
        log_every=10_000,
        checkpoint_every=1_000_000,
    )
    loop.run()
    assert read_metrics(tmp_path)[-1]["live/return"] > 195
