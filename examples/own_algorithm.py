r"""An algorithm of one's own: AWAC, imitation weighted by advantage, of demonstrations and live play in one memory.

    cd examples && python own_algorithm.py
    qwop-finetune imports=[own_algorithm] algorithm=awac policy=scratch demonstrations=data/pole schedule=live-only \
        schedule.decisions=5000 schedule.phases.alone.demonstrations=[1,0] out=runs/awac
"""

import copy

import gymnasium
import qwop
import torch
from qwop import algorithms as base


class AwacSettings(base.AlgorithmSettings):
    """Advantage-weighted actor-critic (Nair et al. 2020, arXiv:2006.09359), with discrete actions."""

    learning_rate: base.Positive = 1e-3
    """Adam's learning rate."""
    temperature: base.Positive = 0.1
    """λ of the weights exp(A/λ): the lower, the less are bad actions imitated."""
    reward_scale: base.Positive = 0.05
    """Factor of every reward."""
    average: base.Share = 0.01
    """Share of the network that enters the target network in an update."""
    n_steps: base.Count = 1


class AwacLoopSettings(base.LoopSettings):
    """Live play and memory of AWAC."""

    num_envs: base.Count = 8
    steps: base.Count = 8
    capacity: base.Count = 50_000
    """Transitions in memory."""
    batch_size: base.Count = 128
    """Transitions of an update."""
    updates: base.Count = 32
    """Updates after each iteration."""


class AwacLearner(base.Learner):
    """Takes steps on L = mean(−min(exp(A/λ), 20)·ln π(a|s) + (y − Q(s, a))²), A = Q(s, a) − V(s), y = r + d·V⁻(s')."""

    def __init__(self, network, settings, device):
        super().__init__(network, settings, device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.network.parameters(), settings.learning_rate)

    def update(self, batch, now):
        with torch.no_grad():
            logits, q = self.target(self._tensor(batch.next_observations))
            value = (torch.softmax(logits, -1) * q).sum(-1)
            y = self.settings.reward_scale * self._tensor(batch.rewards) + self._tensor(batch.discounts) * value
        logits, q = self.network(self._tensor(batch.observations))
        actions = self._tensor(batch.actions)[:, None]
        q_a = q.gather(-1, actions)[:, 0]
        advantage = q_a - (torch.softmax(logits, -1) * q).sum(-1)
        weight = (advantage.detach() / self.settings.temperature).exp().clamp(max=20.0)
        loss = ((y - q_a).square() - weight * torch.log_softmax(logits, -1).gather(-1, actions)[:, 0]).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        torch._foreach_lerp_([*self.target.parameters()], [*self.network.parameters()], self.settings.average)
        return base.UpdateStats({"loss": loss.item(), "weight": weight.mean().item()}, {})


class AwacAgent(base.Agent):
    """Stores transitions of live play and their share of demonstrations, and learns from samples of both."""

    def __init__(self, run):
        self.learner = AwacLearner(run.policy.network, run.algorithm, run.device)
        self.loop, self.log, self.generator = run.loop, run.log, run.for_agent
        self.memory = base.TransitionMemory(run.loop.capacity, run.policy.observation)
        self.demonstrations = base.transitions_for(run)
        self.n_step, self.due = base.NStep(run.algorithm.n_steps), base.FractionalCounter()

    def learn(self, live, now):
        self.memory.push(self.n_step.push(live, now.gamma))
        self.memory.push(self.demonstrations.next(self.due.take(now.demonstrations * self.loop.decisions)))
        for _ in range(self.loop.updates):
            batch = self.memory.sample(self.loop.batch_size, 0.0, self.generator).transitions
            self.log.add_batch(batch.source, self.learner.update(batch, now))

    def begin_phase(self, phase):
        if not phase.uses_demonstrations:
            self.memory.remove(base.DEMONSTRATIONS)


base.register_algorithm("awac", settings=AwacSettings, loop=AwacLoopSettings, agent=AwacAgent)


def record(folder, games=20):
    """Record games of a player who follows the pole, and acts at random in a tenth of the decisions."""
    with qwop.Collector(gymnasium.make("CartPole-v1"), folder, player="rule") as env:
        for game in range(games):
            (_, _, angle, speed), _ = env.reset(seed=game)
            while True:
                right = env.np_random.random() > 0.5 if env.np_random.random() < 0.1 else angle + 0.5 * speed > 0
                (_, _, angle, speed), _, terminated, truncated, _ = env.step(int(right))
                if terminated or truncated:
                    break
    return qwop.open_dataset(folder)


if __name__ == "__main__":
    schedule = qwop.Schedule([qwop.Phase("mixed", decisions=5_000, demonstrations=[1.0, 0.0])])
    settings = {"algorithm": "awac", "schedule": schedule, "evaluation": {"episodes": 20, "drawn": 20}}
    run = qwop.finetune("scratch", demonstrations=record("data/pole"), **settings)
    print(run.evaluations[["phase", "mean_return", "drawn/mean_return"]])
