"""Clone, mix, remove: reinforcement learning with demonstrations in its replay memory, on one page.

    python examples/clone_mix_remove.py
    python examples/clone_mix_remove.py --dataset data/me --iterations 2000

The player of a dataset is cloned. The clone then plays, and learns by ACER (Wang et al. 2017, "Sample Efficient
Actor-Critic with Experience Replay") from a memory of its own games and as many demonstrations. In the end the
demonstrations leave the memory. `qwop-finetune schedule=kurodo` does the same with checkpoints and evaluations.
"""

import argparse
import copy
from pathlib import Path

import numpy as np
import qwop
import torch
from qwop.finetune.agents.acer import losses as acer
from qwop.finetune.agents.updates import final_values
from qwop.finetune.experience.collector import Collector, PolicySnapshot
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Sequences, interleave
from qwop.finetune.replay.demonstrations import Demonstrations, RecordedSequences
from qwop.finetune.replay.memory import SequenceMemory
from qwop.policies.networks import ActorCritic
from torch import Tensor

GAMES, STEPS = 32, 20
"""Games side by side, and decisions of each in an iteration."""
CAPACITY = 6400
"""Sequences in memory."""
REPLAY_RATIO = 4.0
"""Updates from memory for each update from live play, on average."""
GAMMA = 0.985
"""Discount per decision."""
REWARD_SCALE = 0.1
"""Factor of every reward."""
TRUNCATION = 10.0
"""c: importance weights beyond it are truncated, and their bias corrected."""
DELTA = 0.01
"""δ: an update may change KL[π_avg ‖ π] by this much at most."""
AVERAGE = 0.99
"""Decay of the average policy π_avg, per update."""
LEARNING_RATE, ENTROPY, MAX_NORM = 1e-3, 1e-4, 10.0


class Learner:
    """Trains a network with heads for the logits of π(·|s) and for Q(s, ·), by ACER with discrete actions."""

    def __init__(self, network: ActorCritic) -> None:
        self.network = network
        self.average = copy.deepcopy(network).requires_grad_(False)
        self.optimiser = torch.optim.RMSprop(network.parameters(), LEARNING_RATE, alpha=0.99, eps=1e-5)

    def update(self, batch: Sequences, critic_only: bool) -> None:
        """Take a step on n sequences of k decisions; critic_only: of Q alone, the policy stays as it is."""
        observations = torch.from_numpy(batch.observations).transpose(0, 1)  # time first, as in the formulas
        actions, mu = torch.from_numpy(batch.actions).T, torch.from_numpy(batch.behaviour_probabilities).transpose(0, 1)
        logits, q = self.network(observations)  # [k + 1, n, A]
        with torch.no_grad():
            pi = torch.softmax(logits, -1)
            values = (pi * q).sum(-1)
            rho = acer.importance_weights(of_action(pi[:-1], actions), of_action(mu, actions))
            q_ret = acer.retrace(
                REWARD_SCALE * torch.from_numpy(batch.rewards).T,
                torch.from_numpy(batch.terminated).T,
                torch.from_numpy(batch.truncated).T,
                of_action(q[:-1], actions),
                values,
                final_values(batch, self.value, torch.device("cpu")).T,
                rho,
                GAMMA,
            )
        logits, q, pi, values = logits[:-1], q[:-1], pi[:-1], values[:-1]
        loss = 0.5 * acer.critic_loss(of_action(q, actions), q_ret)
        if not critic_only:
            with torch.no_grad():
                g = acer.policy_gradient(pi, mu, actions, q, values, q_ret, TRUNCATION, ENTROPY)
                pi_average = torch.softmax(self.average(observations[:-1])[0], -1)
                z, _ = acer.to_trust_region(g, pi, pi_average, DELTA)
            loss = loss - (z * logits).sum(-1).mean()
        self.optimiser.zero_grad()
        loss.backward()
        if critic_only:
            for name, parameter in self.network.named_parameters():
                parameter.grad = parameter.grad if name.startswith("q_head.") else None
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), MAX_NORM)
        self.optimiser.step()
        torch._foreach_lerp_([*self.average.parameters()], [*self.network.parameters()], 1 - AVERAGE)

    @torch.no_grad()
    def value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s)·Q(s, a)."""
        logits, q = self.network(observations)
        return (torch.softmax(logits, -1) * q).sum(-1)


def of_action(numbers: Tensor, actions: Tensor) -> Tensor:
    """The number of the action taken, [k, n], of numbers of all actions [k, n, A]."""
    return numbers.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, default=qwop.embedded_dataset(), help="default: the embedded games")
    parser.add_argument("--iterations", type=int, default=300, help=f"of {GAMES * STEPS} decisions, in each phase")
    parser.add_argument("--epochs", type=int, default=60, help="passes of cloning, at most")
    parser.add_argument("--out", type=Path, default=Path("clone_mix_remove.safetensors"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # faster than several for a network as small as this one
    chance = np.random.default_rng(0)

    dataset = qwop.open_dataset(arguments.dataset)
    policy = qwop.pretrain(dataset, epochs=arguments.epochs, games=0, frames_per_step=None, quiet=True).policy
    learner = Learner(policy.network)
    recorded = RecordedSequences(dataset, STEPS, GAMMA)  # with μ as the dataset has it
    demonstrations = Demonstrations(recorded, streams=GAMES, stride=STEPS)
    memory = SequenceMemory(CAPACITY, STEPS, policy.observation, policy.actions)
    collector = Collector(qwop.make_vector(policy.environment, GAMES), STEPS, chance)
    playing = PolicySnapshot(policy.network, live=True)

    for phase, count in (("values", GAMES), ("mixed", GAMES), ("alone", 0)):
        if not count:
            print(f"{memory.remove(DEMONSTRATIONS)} demonstrations removed")
        returns = []
        for _ in range(arguments.iterations):
            playing.take(policy.network)
            live, ended = collector.collect(playing)
            returns += [game.total_reward for game in ended]
            memory.push(interleave(live, demonstrations.next(count)) if count else live)
            for batch in (live, *(memory.sample(GAMES, chance) for _ in range(chance.poisson(REPLAY_RATIO)))):
                learner.update(batch, critic_only=phase == "values")
        share = memory.shares()["demonstrations"]
        print(f"{phase}: mean return {np.mean(returns or [0]):.1f} of {len(returns)} games; memory: {share:.0%} shown")
    print(f"policy: {qwop.save_policy(arguments.out, policy)}")


if __name__ == "__main__":
    main()
