"""The loop as a whole, on CartPole: what enters and leaves the memory, resuming, and that it learns."""

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector
from qwop.finetune.agents.acer.learner import AcerLearner, AcerSettings
from qwop.finetune.agents.acer.training import LoopSettings, Trainer
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.experience.collector import Collector
from qwop.finetune.replay.behaviour import Behaviour, BehaviourSettings
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.replay.sequence_memory import SequenceMemory
from qwop.finetune.reports.run_log import RunLog, read_metrics
from qwop.finetune.schedules.schedule import Phase, Ramp, Schedule
from qwop.finetune.schedules.stability import ReturnMonitor, StabilitySettings
from qwop.policies.networks import ActorCritic

CARTPOLE = EnvironmentSpec("CartPole-v1")
HOUR = 3600  # an hour at one decision a second


class Run:
    """Everything of a run, so that tests can look inside."""

    def __init__(
        self,
        folder,
        phases,
        episodes=(),
        seed=0,
        resume=False,
        hidden=(16,),
        mode="current",
        algorithm=None,
        **settings,
    ):
        self.settings = LoopSettings(
            **{"num_envs": 4, "steps": 5, "capacity": 64, "start": 8, "value_decisions": 0, **settings}
        )
        seeds = np.random.SeedSequence(seed).spawn(2)
        env = make_vector(CARTPOLE, self.settings.num_envs)
        network = ActorCritic(4, 2, hidden, torch.Generator().manual_seed(seed))
        self.learner = AcerLearner(network, algorithm or AcerSettings(), torch.device("cpu"))
        self.memory = SequenceMemory(self.settings.capacity, self.settings.steps, ObservationSpec((4,)), 2)
        self.schedule = Schedule(phases, 1.0, 1.0, ReturnMonitor(StabilitySettings()))
        self.demonstrations = (
            Demonstrations(episodes, self.settings.num_envs, self.settings.steps) if len(episodes) else None
        )
        self.collector = Collector(env, self.settings.steps, np.random.default_rng(seeds[0]))
        self.shares, self.phase_ends = [], []
        self.checkpoints = folder / "checkpoints"
        state = load_checkpoint(checkpoints(self.checkpoints)[-1]) if resume else None
        log = RunLog(folder)
        log.open(resume_at=state["decisions"] if state else None)
        self.trainer = Trainer(
            learner=self.learner,
            memory=self.memory,
            demonstrations=self.demonstrations,
            behaviour=Behaviour(BehaviourSettings(mode=mode)),
            schedule=self.schedule,
            collector=self.collector,
            settings=self.settings,
            generator=np.random.default_rng(seeds[1]),
            log=log,
            folder=self.checkpoints,
            phase_over=lambda index, phase: self.phase_ends.append((index, phase.name, self.memory.shares())),
            progress=lambda progress: self.shares.append((progress.phase, self.memory.shares()["demonstrations"])),
        )
        if state:
            self.trainer.set_state(state)

    def weights(self):
        return torch.cat(
            [p.detach().flatten() for p in (*self.learner.network.parameters(), *self.learner.average.parameters())]
        )


@pytest.fixture
def cartpole_episodes(make_episode):
    return [make_episode(n, first=i, actions=2, shape=(4,), truncated=False) for i, n in enumerate((30, 47, 12))]


PHASES = (
    Phase("alone", 400 / HOUR),
    Phase("mixed", 600 / HOUR, demonstrations=Ramp(1.0, 1.0)),
    Phase("alone again", 400 / HOUR),
)


def test_demonstrations_are_half_of_the_memory_while_they_are_on_and_none_after(tmp_path, cartpole_episodes):
    run = Run(tmp_path, PHASES, cartpole_episodes)
    run.trainer.run()
    assert [name for _, name, _ in run.phase_ends] == ["alone", "mixed", "alone again"]
    mixed = [share for name, share in run.shares if name == "mixed"]
    assert mixed[0] == pytest.approx(4 / 64, abs=0.01)
    assert mixed[-2] == 0.5
    assert [share for name, share in run.shares if name != "mixed"] == [0.0] * 40
    # They are gone the moment the phase is over, not when the ring has overflowed.
    assert run.phase_ends[1][2]["demonstrations"] == 0.0
    assert len(run.memory) > 0
    assert run.trainer.decisions == 1400


def test_an_annealed_ratio_brings_in_fewer_and_fewer(tmp_path, cartpole_episodes):
    run = Run(tmp_path, (Phase("anneal", 2000 / HOUR, demonstrations=Ramp(1.0, 0.0)),), cartpole_episodes)
    run.trainer.run()
    shares = [share for _, share in run.shares]
    assert max(shares) > 0.4
    assert shares[-1] < 0.1


def test_without_live_play_the_memory_holds_demonstrations_alone(tmp_path, cartpole_episodes):
    phases = (Phase("shown", 200 / HOUR, demonstrations=Ramp(1.0, 1.0), live=False), PHASES[1])
    run = Run(tmp_path, phases, cartpole_episodes)
    run.trainer.run()
    assert [share for name, share in run.shares if name == "shown"][:-1] == [1.0] * 9


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("mode", ["current", "current_at_sampling"])
def test_a_run_that_is_killed_and_resumed_equals_one_that_is_not(tmp_path, cartpole_episodes, overlap, mode):
    settings = {"checkpoint_every": 300, "log_every": 100, "overlap": overlap, "mode": mode}
    whole = Run(tmp_path / "whole", PHASES, cartpole_episodes, **settings)
    whole.trainer.run()

    half = Run(tmp_path / "half", PHASES, cartpole_episodes, **settings)
    half.trainer.run(until=700)
    assert half.trainer.decisions == 900
    resumed = Run(tmp_path / "half", PHASES, cartpole_episodes, resume=True, seed=5, **settings)
    resumed.trainer.run()

    assert torch.equal(whole.weights(), resumed.weights())
    assert np.array_equal(whole.memory.contents().observations, resumed.memory.contents().observations)
    cursors = [each.demonstrations.get_state()["cursors"].tolist() for each in (whole, resumed)]
    assert cursors[0] == cursors[1]
    assert whole.schedule.get_state() == resumed.schedule.get_state()
    told = [
        [{k: v for k, v in row.items() if not k.startswith(("time", "speed"))} for row in read_metrics(tmp_path / name)]
        for name in ("whole", "half")
    ]
    assert told[0] == told[1]


def test_the_values_of_a_trained_policy_are_fitted_before_the_schedule_begins_and_do_not_count(tmp_path):
    def largest_q(folder, bias):
        run = Run(folder, (Phase("alone", 20 / HOUR, learning_rate=Ramp(0, 0)),), value_decisions=200)
        with torch.no_grad():
            run.learner.network.policy_head.bias.copy_(torch.tensor([bias, 0.0]))
        run.trainer.run()
        assert run.trainer.decisions == 20
        assert len(run.memory) == 40 + 4
        return run.learner.network.q_head.bias.abs().max().item()

    assert largest_q(tmp_path / "trained", bias=1.0) > 1
    assert largest_q(tmp_path / "untrained", bias=0.0) == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_it_learns_to_balance_a_pole(tmp_path, seed):
    run = Run(
        tmp_path,
        (Phase("alone", 50_000 / HOUR),),
        seed=seed,
        hidden=(64, 64),
        algorithm=AcerSettings(reward_scale=0.1, learning_rate=2e-3),
        num_envs=8,
        steps=20,
        capacity=400,
        start=50,
        log_every=5000,
    )
    run.trainer.run()
    assert read_metrics(tmp_path)[-1]["live/return"] > 195
