"""Bugs that the author of a DQN found in it (dennischenfeng, "DQN: reproducing"), each as a test that it would fail."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.finetune.agents.base import AgentContext
from qwop.finetune.agents.dqn import losses as dqn
from qwop.finetune.agents.dqn.agent import DqnAgent, new_q_network
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import ADAM, RMSPROP, DqnLoopSettings, DqnSettings
from qwop.finetune.experience.sequences import LIVE, Sequences
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.metrics import Metrics
from qwop.finetune.replay.transition_memory import TransitionMemory
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.policy import Policy
from qwop.policies.q_networks import QNetwork

NOW = PhaseValues()
CPU = torch.device("cpu")
BREAKOUT, NOOP = EnvironmentSpec("ALE/Breakout-v5"), 0


def learner(device: torch.device = CPU, seed: int = 0, **settings: Any) -> DqnLearner:
    chosen = DqnSettings(**{"hidden": (16,), "optimiser": ADAM, **settings})
    return DqnLearner(new_q_network(chosen)(2, 3, torch.Generator().manual_seed(seed)), chosen, device)


def agent_of(one: DqnLearner, settings: DqnSettings, **loop: Any) -> DqnAgent:
    chosen = DqnLoopSettings(**{"num_envs": 2, "steps": 4, "capacity": 400, "start": 8, "batch_size": 8, **loop})
    context = AgentContext(CPU, Metrics(), np.random.default_rng(0), 0, None)
    return DqnAgent(one, TransitionMemory(chosen.capacity, ObservationSpec((2,))), None, settings, chosen, context)


def batch(n: int = 8, seed: int = 0, **columns: Any) -> Transitions:
    random = np.random.default_rng(seed)
    made = Transitions(
        observations=random.normal(size=(n, 2)).astype(np.float32),
        actions=random.integers(3, size=n),
        rewards=random.normal(size=n).astype(np.float32),
        discounts=np.full(n, 0.9, dtype=np.float32),
        next_observations=random.normal(size=(n, 2)).astype(np.float32),
        source=np.full(n, LIVE, dtype=np.int8),
    )
    return replace(made, **columns)


@contextmanager
def most_allocated() -> Iterator[Callable[[], int]]:
    """Gives a function for the most bytes that Python and NumPy held within, beyond those from before."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    peak = 0
    try:
        yield lambda: peak - before
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def weights_of(network: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def ones(n: int = 8) -> Any:
    return np.ones(n, dtype=np.float32)


def only(action: int) -> Policy:
    """A policy of Breakout that always takes one action."""
    network = QNetwork(BREAKOUT.interface()[0], 4, (16,), torch.Generator().manual_seed(0), convolutions="nips")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.advantage[-1].bias[action] = 1.0  # type: ignore[index]
    return Policy(network, BREAKOUT, network.observation)


@pytest.fixture
def atari() -> None:
    pytest.importorskip("ale_py", reason="needs ale-py: pip install 'qwop[atari]'")
    pytest.importorskip("cv2", reason="needs OpenCV: pip install 'qwop[atari]'")


@pytest.mark.usefixtures("atari")
def test_bug_1_an_evaluation_ends_though_the_agent_never_presses_fire_again() -> None:
    games = EvaluationSettings(episodes=1, num_envs=1, idle_limit=60)
    (result,) = evaluate(only(NOOP), games).results
    assert result.outcome == "truncated"
    assert 60 < result.decisions < 300  # a ball is lost, and no other is served


@pytest.mark.usefixtures("atari")
def test_bug_10_a_lost_life_ends_an_episode_in_training_alone() -> None:
    training, evaluation = make_vector(BREAKOUT, 1, training=True), make_vector(BREAKOUT, 1)
    training.reset(seed=1)
    evaluation.reset(seed=1)
    lives, ended = [5], []
    while lives[-1] == 5:
        seen, _, terminated, truncated, infos = training.step(np.array([NOOP]))
        also_seen, _, never, _, _ = evaluation.step(np.array([NOOP]))
        np.testing.assert_array_equal(seen, also_seen)  # the game goes on, without a reset
        lives.append(int(infos["lives"][0]))
        ended.append(bool(terminated[0]))
        assert not never[0]
        assert not truncated[0]
    assert ended == [False] * (len(ended) - 1) + [True]
    assert infos["game_goes_on"][0]


def test_bug_2_tensors_are_not_made_from_lists_of_arrays(
    recwarn: pytest.WarningsRecorder, make_sequences: Callable[..., Sequences]
) -> None:
    """PyTorch warns of a conversion that is hundreds of times slower than that of one array."""
    settings = DqnSettings(hidden=(16,))
    agent = agent_of(learner(), settings)
    torch.set_warn_always(True)
    try:
        agent.observe(make_sequences(2), NOW)
        agent.update(NOW)
    finally:
        torch.set_warn_always(False)
    assert not [one for one in recwarn if "list of numpy" in str(one.message)]


@pytest.mark.parametrize("seed", range(5))
def test_bug_3_every_seed_learns_not_the_best_of_some(seed: int) -> None:
    """A corridor: action 1 leads on from place 0 to 4, where it pays 1; the others stay."""
    places = np.repeat(np.arange(5), 3)
    actions = np.tile(np.arange(3), 5)
    at = np.stack([places / 2 - 1, (places - 2) ** 2 / 2 - 1], axis=1).astype(np.float32)
    onward = np.where(actions == 1, np.minimum(places + 1, 4), places)
    paid = (places == 4) & (actions == 1)
    corridor = Transitions(
        observations=at,
        actions=actions,
        rewards=paid.astype(np.float32),
        discounts=np.where(paid, 0.0, 0.9).astype(np.float32),
        next_observations=at[onward * 3],
        source=np.zeros(15, dtype=np.int8),
    )
    one = learner(seed=seed, hidden=(32,), learning_rate=3e-3)
    for number in range(600):
        one.update(corridor, ones(15))
        if number % 20 == 0:
            one.copy_target()
    q = one.network(torch.from_numpy(at[::3])).detach()
    assert (q.argmax(-1) == 1).all()
    assert q[:, 1].tolist() == pytest.approx([0.9**4, 0.9**3, 0.9**2, 0.9, 1.0], abs=0.1)


def test_bug_4_the_error_is_that_of_huber_without_a_factor_of_two() -> None:
    errors = 3 * torch.randn(1000, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(dqn.huber(errors).mean(), torch.nn.functional.smooth_l1_loss(errors, errors * 0))


def test_bug_5_replay_is_uniform_and_quick() -> None:
    memory = TransitionMemory(50_000, ObservationSpec((2,)))
    memory.push(batch(50_000, actions=np.arange(50_000) % 10))
    generator = np.random.default_rng(0)
    with most_allocated() as allocated:
        memory.sample(32, 1.0, generator)
    assert allocated() < 50_000  # bytes; `choice` without replacement shuffles 50,000 numbers for each sample
    draws = sum(np.bincount(memory.sample(32, 1.0, generator).transitions.actions, minlength=10) for _ in range(1000))
    assert ((draws - 3200) ** 2 / 3200).sum() < 27.9  # χ², 9 degrees of freedom, p = 0.001


@pytest.mark.parametrize("double", [False, True])
def test_bug_6_no_gradient_reaches_the_target_network(double: bool) -> None:
    one = learner(double=double)
    one.update(batch(), ones())
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in one.target.parameters())
    assert all(parameter.grad is not None for parameter in one.network.parameters())


@pytest.mark.parametrize("ends", [True, False])
def test_bug_7_the_value_of_what_follows_counts_unless_the_episode_ended(ends: bool) -> None:
    one, made = learner(), batch(discounts=np.full(8, 0.0 if ends else 0.9, dtype=np.float32))
    with torch.no_grad():
        q = one.network(torch.from_numpy(made.observations)).numpy()[np.arange(8), made.actions]
        best = one.target(torch.from_numpy(made.next_observations)).max(-1).values.numpy()
    errors, _ = one.update(made, ones())
    expected = made.rewards if ends else made.rewards + 0.9 * best
    np.testing.assert_allclose(errors + q, expected, rtol=1e-4, atol=1e-6)


def test_bug_8_the_target_follows_after_exactly_as_many_updates_as_it_should(
    make_sequences: Callable[..., Sequences],
) -> None:
    settings = DqnSettings(hidden=(16,))
    one = learner()
    agent = agent_of(one, settings, train_every=4.0, target_every=24)  # 2 updates for 8 decisions, a copy after 6
    equal = []
    for number in range(6):
        agent.observe(make_sequences(2, first=10 * number), NOW)
        agent.update(NOW)
        equal.append(torch.equal(weights_of(one.network), weights_of(one.target)))
    assert equal == [False, False, True, False, False, True]


def test_bug_9_frames_stay_bytes_and_are_stored_once() -> None:
    memory = TransitionMemory(3000, ObservationSpec((4, 84, 84), "uint8"))
    frames = np.random.default_rng(0).integers(256, size=(304, 84, 84)).astype(np.uint8)
    seen = np.stack([frames[i : i + 4] for i in range(301)])
    memory.push(batch(300, observations=seen[:-1], next_observations=seen[1:]))
    assert memory.contents().observations.dtype == np.uint8
    frames_held = memory.get_state()["observations"]["frames"]
    assert (
        frames_held.nbytes == 304 * 84 * 84
    )  # with both stacks of each transition 2,400 frames, in float64 8 times that


def test_bug_11_parameters_and_batches_are_on_the_device_asked_for() -> None:
    meta = torch.device("meta")  # a device without numbers: tensors left on the CPU do not go with those on it
    one = learner(meta, optimiser=RMSPROP)
    assert {p.device for net in (one.network, one.target) for p in net.parameters()} == {meta}
    with pytest.raises(NotImplementedError, match="meta"):  # the errors cannot be brought back to the CPU
        one.update(batch(), ones())


def test_bug_12_work_is_that_of_the_updates_due_however_large_the_memory(
    make_sequences: Callable[..., Sequences],
) -> None:
    """The first version made 100,000 steps an hour."""
    settings = DqnSettings(hidden=(16,))
    one = learner()
    agent = agent_of(one, settings, capacity=1_000_000)
    passes: dict[str, list[int]] = {"network": [], "target": []}
    for name, network in (("network", one.network), ("target", one.target)):
        network.scaler.register_forward_hook(lambda _, rows, __, seen=passes[name]: seen.append(len(rows[0])))
    agent.observe(make_sequences(2), NOW)
    agent.update(NOW)  # what is made once, such as the state of the optimiser
    with most_allocated() as allocated:
        for number in range(1, 40):
            agent.observe(make_sequences(2, first=10 * number), NOW)
            agent.update(NOW)
    updates = 40 * 8 // 4  # a batch for every four decisions, in one pass through each network
    assert passes == {"network": [8] * updates, "target": [8] * updates}
    assert allocated() < 1_000_000  # bytes: less than one for each transition that the memory has room for


def test_exploration_falls_linearly_and_stays() -> None:
    assert [dqn.linear(1.0, 0.1, step / 50) for step in (0, 25, 50, 100)] == pytest.approx([1.0, 0.55, 0.1, 0.1])
