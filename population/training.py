"""The training of agents in a round: play, learn, return the results; here, or by workers in other processes."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._pytree import tree_map_only

from ..common.errors import BadInput, quoted
from ..common.settings import Settings
from ..envs.race.vector import RaceTask
from ..envs.spec import EnvironmentSpec
from ..envs.vector import VectorEnv, make_vector
from ..finetune.agents.agent import LiveLearner
from ..finetune.checkpoint import is_finite
from ..finetune.distributed.actors import MOST_DEATHS, ActorDied, RayEngine
from ..finetune.experience.collector import Collector, PolicySnapshot
from ..finetune.log import mean_figures
from ..finetune.schedules.phase import PhaseValues
from ..finetune.weight_average import add_recent, new_average
from ..policies.devices import choose_device, undisturbed
from ..policies.networks import Network
from ..policies.policy import Policy
from .agents import Genes, PopulationAgents
from .rewards import event_rewards
from .rival_races import RaceEnd, Rival, RivalRaces, seen_columns, view_of
from .settings import RaceSettings, WorkSettings

Report = Callable[[int], None]


@dataclass(frozen=True)
class RivalState:
    """Another agent's weights and reward weights."""

    genes: Genes
    rewards: Mapping[str, float]
    network: dict[str, torch.Tensor]


@dataclass(frozen=True)
class TrainingTask:
    """One agent's training task for a round. learner: state of its learner. play: state of its games, None for new
    ones. rivals: opponents from the population, by number. schedule: numbers of the opponents of its next races, in
    order. seed: determines everything random that is not in `play`.
    """

    genes: Genes
    rewards: Mapping[str, float]
    learner: dict[str, Any]
    play: dict[str, Any] | None
    seed: int
    rivals: Mapping[int, RivalState] = field(default_factory=dict)
    schedule: tuple[int, ...] = ()


@dataclass(frozen=True)
class TrainingResult:
    """Result of a round: states for the next one, races or scores of finished games, and mean measurements. diverged:
    the learner's state holds numbers that are not finite."""

    learner: dict[str, Any]
    play: dict[str, Any]
    races: list[RaceEnd]
    scores: list[float]
    figures: dict[str, float]
    diverged: bool = False


class AgentTrainer:
    """Runs training tasks, one at a time. A result depends only on its task. fixed: rivals that never learn, numbered
    after the agents. device: of the learners, as named in the settings; games are played on the CPU.
    """

    def __init__(
        self,
        environment: EnvironmentSpec,
        agents: PopulationAgents,
        work: WorkSettings,
        race: RaceSettings | None = None,
        fixed: Mapping[int, Policy] | None = None,
        device: str = "cpu",
    ) -> None:
        torch.set_num_threads(1)
        self._device = choose_device(device)
        self.environment, self._agents, self._work = environment, agents, work
        self.observation, self.actions = environment.interface()
        self._race = race or RaceSettings()
        self._is_race = environment.capabilities.group > 1
        self._fixed = {
            number: Rival(
                PolicySnapshot(policy.network),
                view_of(policy, environment, f"rival {number}")[0],
                event_weights_of(policy.environment),
                greedy=True,
            )
            for number, policy in (fixed or {}).items()
        }

    def begin(self, genes: Genes, seed: int, policy: Policy | None = None) -> dict[str, Any]:
        """Return the state of a new agent's learner, with the weights of a policy if given.

        Raises BadInput unless the policy's network has the agents' architecture and widths. It may see fewer features.
        """
        network = self._new_network(genes, seed)
        if policy is not None:
            columns = seen_columns(policy, self.environment) if self._is_race else np.arange(policy.observation.size)
            _take_weights(network, policy, columns, "make it a rival (rivals=[…]), or " if self._is_race else "")
        learner = self._new_learner(network, genes, seed)
        return _on_cpu(learner.get_state() | {"average": new_average(network)})

    def policy(
        self, genes: Genes, rewards: Mapping[str, float], learner: dict[str, Any], training: Mapping[str, Any]
    ) -> Policy:
        """Return the policy of an agent in this state, with averaged weights and, in races, its own rewards."""
        network = self._network(genes, learner["network"] | learner["average"]["weights"])
        settings = dict(self.environment.settings)
        if rewards:
            settings["weights"] = event_rewards(rewards).tolist()
        return Policy(network, EnvironmentSpec(self.environment.id, settings), self.observation, training)

    def run_tasks(self, tasks: Mapping[int, TrainingTask], report: Report) -> dict[int, TrainingResult]:
        """Return the result of each agent's task; report(number) is called after each."""
        results = {}
        for number, task in tasks.items():
            results[number] = self.train(task)
            report(number)
        return results

    def train(self, task: TrainingTask) -> TrainingResult:
        """Play and learn from all unrolls of a round."""
        learner = self._new_learner(self._new_network(task.genes), task.genes)
        network = learner.network
        learner.set_state(copy.deepcopy(task.learner))  # optimisers may change their state in place
        average = copy.deepcopy(task.learner["average"])
        actor = PolicySnapshot(network)
        races = self._env if isinstance(self._env, RivalRaces) else None
        if races is not None:
            rivals = {number: self._rival(one) for number, one in task.rivals.items()}
            races.enter(event_rewards(task.rewards), {**rivals, **self._fixed}, task.schedule)
        collector = Collector(self._env, self._work.steps, np.random.default_rng(task.seed), task.play)
        now = PhaseValues(gamma=self._agents.gamma_at(self.environment.capabilities.decisions_per_second))
        scores, metres, finished, updates = [], [], [], []
        for _ in range(self._work.unrolls):
            actor.take(network)
            unroll, ends = collector.collect(actor)
            if races is not None:
                unroll = replace(unroll, signals=races.take_signals())
            updates.append(undisturbed(learner.update)(unroll, now).scalars)
            add_recent(average, network, self._work.num_games * self._work.steps, self._agents.weight_average)
            scores += [end.total_reward for end in ends]
            metres += [end.metres for end in ends if end.metres is not None]
            finished += [end.finished for end in ends if end.finished is not None]
        if not collector.saves_games():
            collector.restart()
        figures = mean_figures(updates) | {"games": float(len(scores))}
        for name, values in (("return", scores), ("metres", metres), ("finish_share", finished)):
            if values:
                figures[name] = float(np.mean(values))
        run = [] if races is None else races.take_ends()
        if times := [race.seconds for race in run if race.seconds is not None]:
            figures["best_seconds"] = min(times)
        figures = {name: value for name, value in figures.items() if np.isfinite(value)}  # JSON has no others
        state = _on_cpu(learner.get_state() | {"average": average})
        return TrainingResult(state, collector.get_state(), run, scores, figures, not is_finite(state))

    def close(self) -> None:
        if "_env" in vars(self):
            self._env.close()

    @cached_property
    def _env(self) -> VectorEnv:
        spec, games = self.environment, self._work.num_games
        more = {"max_idle_frames": self._race.max_idle_frames} if spec.capabilities.idle_start else {}
        if self._is_race:
            return RivalRaces(spec, games, standstill=self._race.standstill, **more)
        return make_vector(spec, games, **more)

    def _network(self, genes: Genes, weights: dict[str, torch.Tensor]) -> Network:
        network = self._new_network(genes)
        network.load_state_dict(weights)
        return network

    def _new_network(self, genes: Genes, seed: int = 0) -> Network:
        settings, generator = self._agents.settings(genes), torch.Generator().manual_seed(seed)
        return self._agents.algorithm.new_network(settings, self.observation, self.actions, generator)

    @undisturbed
    def _new_learner(self, network: Network, genes: Genes, seed: int = 0) -> LiveLearner[Any, Settings]:
        return self._agents.algorithm.new_learner(network, self._agents.settings(genes), seed, self._device)

    def _rival(self, state: RivalState) -> Rival:
        player = PolicySnapshot(self._network(state.genes, state.network))
        return Rival(player, np.arange(self.observation.size), event_rewards(state.rewards), greedy=False)


def _on_cpu(state: dict[str, Any]) -> dict[str, Any]:
    """Move a state's tensors to the CPU, for workers and rivals on any device."""
    moved: dict[str, Any] = tree_map_only(torch.Tensor, torch.Tensor.cpu, state)
    return moved


def _take_weights(network: Network, policy: Policy, columns: NDArray[np.int64], uses: str) -> None:
    """Copy the policy's weights to these columns of the network's observations; the other columns get weight 0.

    uses: advice for a policy that does not fit, which is BadInput.
    """
    weights, targets = policy.network.state_dict(), network.state_dict()
    if columns.size < network.observation.size:
        weights = {name: _widened(name, tensor, targets.get(name), columns) for name, tensor in weights.items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in targets.items()}
    sizes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if policy.network.architecture != network.architecture or sizes != shapes:
        raise BadInput(
            f"a policy ({_form(policy.network)}), which an agent of this population ({_form(network)}) cannot begin "
            f"with; {uses}choose agent= and its widths to fit"
        )
    network.load_state_dict(weights)


def _form(network: Network) -> str:
    """Architecture, observations and sizes of a network, as settings of agents give them."""
    sizes = [f"{name}={value}" for name, value in network.description().items()]
    return ", ".join([network.architecture, f"observations {network.observation}", *sizes])


def _widened(name: str, tensor: torch.Tensor, target: torch.Tensor | None, columns: NDArray[np.int64]) -> torch.Tensor:
    """Place a tensor over observations, [..., columns], in one of the target shape; return any other unchanged."""
    if target is None or tensor.shape == target.shape or tensor.shape != (*target.shape[:-1], columns.size):
        return tensor
    result = torch.ones_like(target) if name.endswith("scaler.std") else torch.zeros_like(target)
    result[..., torch.from_numpy(columns)] = tensor
    return result


def event_weights_of(environment: EnvironmentSpec) -> NDArray[np.float64]:
    """Return the event rewards, float64 [E], of the races that a policy was trained in; 0 for other games."""
    if environment.capabilities.group == 1:
        return np.zeros_like(RaceTask().weights)
    return np.array(RaceTask(**environment.settings).weights)


class Distributed:
    """Runs tasks on trainers in other processes, each with one task at a time.

    A result depends only on its task, so any worker can run it. If a worker dies, its replacement repeats the task with
    the same result.
    """

    def __init__(self, engine: RayEngine, count: int, *arguments: object) -> None:
        self._engine, self._arguments = engine, arguments
        self._idle = [self._launch() for _ in range(count)]

    def run_tasks(self, tasks: Mapping[int, TrainingTask], report: Report) -> dict[int, TrainingResult]:
        """`AgentTrainer.run_tasks` in parallel."""
        waiting, results = list(tasks), {}
        deaths = dict.fromkeys(tasks, 0)
        under_way: dict[object, tuple[int, object]] = {}
        while waiting or under_way:
            while waiting and self._idle:
                number, worker = waiting.pop(0), self._idle.pop()
                under_way[self._engine.ask(worker, "train", tasks[number])] = number, worker
            handle = self._engine.first_done(list(under_way))
            number, worker = under_way.pop(handle)
            try:
                results[number] = self._engine.result(handle)
                report(number)
            except ActorDied as death:
                deaths[number] += 1
                if deaths[number] == MOST_DEATHS:
                    raise BadInput(
                        f"distributed: the worker of agent {number} died {MOST_DEATHS} times in a row "
                        f"({quoted(str(death), 200)}); resume=true continues from the last checkpoint"
                    ) from None
                waiting.insert(0, number)
                worker = self._launch()
            self._idle.append(worker)
        return {number: results[number] for number in tasks}

    def _launch(self) -> object:
        return self._engine.launch(AgentTrainer, *self._arguments)


Workers = AgentTrainer | Distributed
