"""A population, whose rounds are made up here."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from qwop.envs.race.events import EVENTS
from qwop.population.population import Population
from qwop.population.rewards import HAND_MADE, event_rewards
from qwop.population.rival_races import RaceEnd
from qwop.population.settings import (
    EvolutionSettings,
    PopulationSettings,
    PpoWorkSettings,
)
from qwop.population.training import TrainingResult, TrainingTask

AGENTS = 4
SETTINGS = PopulationSettings(
    agents=AGENTS,
    work=PpoWorkSettings(num_games=10, steps=10, unrolls=1, opponents=3),
    evolution=EvolutionSettings(burn_in=200),
)


class AgentTrainer:
    """Makes agents whose state is a name."""

    def begin(self, genes: Any, seed: int, policy: Any = None) -> dict[str, Any]:
        return {"network": f"agent of seed {seed}"}


class Workers:
    """Lets the agents of higher numbers win all their races, if there are any."""

    def __init__(self) -> None:
        self.races = True
        self.memory: list[Any] = []
        self.diverged: tuple[int, ...] = ()
        self.done: list[TrainingResult] = []
        self.tasks: list[dict[int, TrainingTask]] = []

    def run_tasks(self, tasks: Mapping[int, TrainingTask], report: Any) -> dict[int, TrainingResult]:
        self.tasks.append(dict(tasks))
        done = {}
        for number, order in tasks.items():
            met = (order.schedule or (number,)) if self.races else ()
            races = [RaceEnd(rival, (np.sign(number - rival) + 1) / 2, float(number), None) for rival in met]
            learner = {"network": order.learner["network"] + "+"}
            play = {"env": {"rival": np.array(met)}, "policy": self.memory}
            lost = number in self.diverged
            done[number] = TrainingResult(learner, play, races, [float(number)], {"games": 3.0}, lost)
            report(number)
        self.done = list(done.values())
        return done


def made(**changed: Any) -> tuple[Population, Workers]:
    workers = Workers()
    population = Population(SETTINGS.with_(**changed), AgentTrainer(), workers)  # type: ignore[arg-type]
    population.begin()
    return population, workers


@pytest.mark.parametrize("evolution", [EvolutionSettings(enabled=False), EvolutionSettings(burn_in=10_000)])
def test_winners_are_rated_higher_and_nobody_copies_without_evolution_or_before_the_burn_in(
    evolution: EvolutionSettings,
) -> None:
    population, _ = made(evolution=evolution)
    assert not any(population.play_round().copies for _ in range(5))
    assert [member.id for member in population.best] == [3, 2, 1, 0]


def copied(population: Population) -> dict[int, int]:
    """Plays rounds up to the first one with copies; gives the parents of the children."""
    return next(copies for copies in (dict(population.play_round().copies) for _ in range(20)) if copies)


def test_a_copy_takes_weights_and_its_parents_genes_and_rewards_with_changes() -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=200, chance=1.0, change=0.4, redraw=0.0))
    assert population.play_round().copies == []  # within the burn-in
    copies, plays = copied(population), [one.play for one in workers.done]
    number, parent_number = next((child, parent) for child, parent in copies.items() if parent not in copies)
    assert number < parent_number
    child, parent = population.members[number], population.members[parent_number]
    assert (child.parent, child.generation, child.founder) == (parent_number, 1, parent.founder)
    assert (child.decisions, child.rating) == (0, parent.rating)
    genes = [child.genes[name] / value for name, value in parent.genes.items()]
    rewards = [child.rewards[event] / value for event, value in parent.rewards.items() if value]
    assert {*np.abs(np.array(genes + rewards) - 1).round(9)} == {0.4}
    population.play_round()
    after = workers.tasks[-1]
    assert after[number].learner == after[parent_number].learner
    assert after[number].play is plays[number]  # its races go on


def test_agents_that_diverge_copy_one_that_has_not_and_nobody_copies_them() -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=10_000))
    workers.diverged = (0, 3)  # the best one, too
    row = population.play_round()
    copies = dict(row.copies)
    assert row.diverged == [*copies] == [0, 3]
    assert {*copies.values()} <= {1, 2}
    workers.diverged = ()
    assert population.play_round().copies == []
    assert all(workers.tasks[-1][child].learner == workers.tasks[-1][copies[child]].learner for child in copies)
    population, workers = made(evolution=EvolutionSettings(burn_in=200))
    workers.diverged = (AGENTS - 1,)  # also past the burn-in
    assert AGENTS - 1 not in [parent for _ in range(6) for _, parent in population.play_round().copies]


@pytest.mark.parametrize(("diverged", "enabled"), [(range(AGENTS), True), ((0,), False)])
def test_without_an_agent_to_copy_or_evolution_divergence_is_left_to_the_checkpoint(
    diverged: Sequence[int], enabled: bool
) -> None:
    population, workers = made(evolution=EvolutionSettings(enabled=enabled))
    workers.diverged = tuple(diverged)
    assert population.play_round().copies == []


def test_races_begin_anew_with_the_memory_of_another_agent() -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=200))
    workers.memory = [np.zeros(10)]
    copies = copied(population)
    population.play_round()
    assert all((task.play is None) == (number in copies) for number, task in workers.tasks[-1].items())


def test_opponents_are_others_with_their_weights_and_most_often_those_of_equal_strength() -> None:
    population, workers = made(evolution=EvolutionSettings(enabled=False))
    workers.races = False
    for _ in range(100):
        for rival, won in ((2, 0.5), (1, 0.75), (0, 0.95)):
            population.record.add(3, rival, won, 10.0)
        population.play_round()
    for tasks in workers.tasks:
        for number, task in tasks.items():
            assert number not in task.schedule
            assert {*task.schedule} <= {*task.rivals}
    met = np.bincount([rival for tasks in workers.tasks for rival in tasks[3].schedule], minlength=AGENTS)
    assert met[2] > met[1] > met[0]


def test_in_self_play_the_only_opponent_is_oneself_and_runs_are_compared() -> None:
    population, workers = made(opponents="itself", evolution=EvolutionSettings(enabled=False))
    for _ in range(3):
        population.play_round()
    assert all(order.schedule == (number,) for tasks in workers.tasks for number, order in tasks.items())
    assert [member.id for member in population.best] == [3, 2, 1, 0]


def test_rivals_that_never_learn_are_met_without_weights_and_pin_the_ratings() -> None:
    population = Population(SETTINGS, AgentTrainer(), workers := Workers(), rivals=1)  # type: ignore[arg-type]
    population.begin()
    for _ in range(5):
        done = population.play_round()
    met = {rival for tasks in workers.tasks for order in tasks.values() for rival in order.schedule}
    assert AGENTS in met
    assert all(AGENTS not in order.rivals for tasks in workers.tasks for order in tasks.values())
    assert [rival.rating for rival in done.rivals] == [1000.0]
    assert len(done.agents) == AGENTS


@pytest.mark.parametrize(("rewards", "by_hand"), [("drawn", False), ("fixed", True), ("both", True)])
def test_rewards_begin_by_hand_or_drawn_and_may_stay(rewards: str, by_hand: bool) -> None:
    of_events = dict(zip(EVENTS, event_rewards(HAND_MADE), strict=True))
    assert (of_events["new_metres"], of_events["fall"], of_events["decision"]) == pytest.approx((0.3, -1.0, -0.016))
    population, _ = made(rewards=rewards, evolution=EvolutionSettings(burn_in=0, chance=1.0))
    assert all((member.rewards == HAND_MADE) is by_hand for member in population.members)
    assert len({tuple(member.genes.values()) for member in population.members}) == AGENTS
    assert sum(len(population.play_round().copies) for _ in range(6)) > 3
    assert all(member.rewards == HAND_MADE for member in population.members) is (rewards == "fixed")


def test_scores_are_compared_in_other_environments() -> None:
    population, workers = made(environment="CartPole-v1")
    population.play_round()
    assert all(order.schedule == () and order.rewards == {} for order in workers.tasks[0].values())
    assert [member.id for member in population.best] == [3, 2, 1, 0]


def test_a_population_continues_where_it_was_saved() -> None:
    one, _ = made()
    for _ in range(3):
        one.play_round()
    state = one.get_state()
    workers = Workers()
    other = Population(SETTINGS, AgentTrainer(), workers)  # type: ignore[arg-type]
    other.set_state(state)
    assert other.ratings().ratings.tolist() == one.ratings().ratings.tolist()
    for number in range(5):
        assert one.play_round().copies == other.play_round().copies
        if not number:
            assert [task.play for task in workers.tasks[0].values()] == state["play"]
    assert (one.members, one.decisions) == (other.members, other.decisions)
    assert one.record.points.tolist() == other.record.points.tolist()


def test_older_matches_count_less_each_round_and_a_copy_has_the_record_of_its_parent() -> None:
    population, _ = made(evolution=EvolutionSettings(enabled=False, fade=0.5))
    population.play_round()
    first = population.record.matches.sum()
    population.play_round()
    assert first > 0
    assert population.record.matches.sum() == pytest.approx(1.5 * first)
    population, _ = made(evolution=EvolutionSettings(burn_in=0))
    child, parent = [*copied(population).items()][-1]
    others = [number for number in range(AGENTS) if number not in (child, parent)]
    np.testing.assert_array_equal(population.record.points[child, others], population.record.points[parent, others])
    assert population.record.matches[child, others].any()
