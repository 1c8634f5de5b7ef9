"""A population, whose rounds are made up here."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.population.agents import FtwAgents
from qwop.population.population import Copy, Population
from qwop.population.rewards import HAND_MADE
from qwop.population.rival_races import RaceEnd
from qwop.population.settings import (
    EvolutionSettings,
    KickstartingSettings,
    PopulationSettings,
    PpoWorkSettings,
    RaceSettings,
    WorkSettings,
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
            seconds = {"playing": 1.0, "learning": 2.0}
            lost = number in self.diverged
            done[number] = TrainingResult(learner, play, races, [float(number)], {"games": 3.0}, seconds, lost)
            report(number)
        self.done = list(done.values())
        return done


def made(**changed: Any) -> tuple[Population, Workers]:
    workers = Workers()
    population = Population(SETTINGS.with_(**changed), AgentTrainer(), workers)  # type: ignore[arg-type]
    population.begin()
    return population, workers


def test_a_teacher_counts_less_and_less() -> None:
    population, workers = made(teachers=("a", "b"), kickstarting=KickstartingSettings(weight=0.5, decisions=400))
    for _ in range(5):
        population.play_round()
    heard = [[(order.teacher, order.imitation) for order in tasks.values()] for tasks in workers.tasks]
    assert [row[1] for row in heard] == [(1, 0.5), (1, 0.375), (1, 0.25), (1, 0.125), (None, 0.0)]
    assert all(row[2:] == [(None, 0.0)] * 2 for row in heard)


def test_an_ancestor_learns_in_the_place_of_all_and_then_they_go_on_from_there() -> None:
    population, workers = made(ancestor_decisions=600, rewards="varied")
    rounds = [population.play_round() for _ in range(8)]
    turns = [order for tasks in workers.tasks[:8] for order in tasks.items()]  # two rounds of four turns
    first, order = turns[0]
    begun = order.learner["network"]
    for turn, (number, order) in enumerate(turns):
        assert number == first == 0
        assert order.learner["network"] == begun + "+" * turn
        assert (order.genes, order.rewards, order.schedule) == (rounds[0].members[0].genes, HAND_MADE, (0,))
        assert (order.play is None) == (turn == 0)
    after = workers.tasks[8]
    assert {order.learner["network"] for order in after.values()} == {begun + "+" * 8}
    assert [order.play is None for order in after.values()] == [False, True, True, True]
    members = rounds[1].members
    assert [(order.genes, order.rewards) for order in after.values()] == [(one.genes, one.rewards) for one in members]
    assert len({one.rewards["fall"] for one in members}) == len({one.genes["entropy"] for one in members}) == AGENTS
    assert [(one.parent, one.generation, one.founder) for one in members] == [(None, 0, 0), *[(0, 1, 0)] * 3]
    assert rounds[0].copies == ()
    assert rounds[1].copies == tuple(Copy(number, 0) for number in (1, 2, 3))
    assert [done.decisions for done in rounds[:3]] == [400, 800, 1200]
    assert [done.members[0].decisions for done in rounds[:3]] == [0, 0, 100]
    assert [done.members[0].rating == 1000.0 for done in rounds[:3]] == [True, True, False]
    assert any(done.copies for done in rounds[2:])
    assert [len(done.figures) for done in rounds[:3]] == [AGENTS] * 3


def test_an_ancestor_is_taught_as_long_as_a_single_agent() -> None:
    """With 100 decisions a turn, the weight falls from turn to turn, and goes on falling for those that descend."""
    population, workers = made(
        teachers=("a", "b"), kickstarting=KickstartingSettings(weight=0.8, decisions=800), ancestor_decisions=1
    )
    for _ in range(3):
        population.play_round()
    turns = [tasks[0].imitation for tasks in workers.tasks[:4]]
    assert turns == pytest.approx([0.8, 0.7, 0.6, 0.5])
    apart = [(tasks[0].imitation, tasks[1].imitation) for tasks in workers.tasks[4:]]
    assert apart == [pytest.approx((0.4, 0.4)), pytest.approx((0.3, 0.3))]


def test_agents_play_as_suits_their_kind() -> None:
    assert PopulationSettings(agent=FtwAgents()).work.decisions == WorkSettings().decisions == 16_000
    with pytest.raises(BadInput, match="work: expected WorkSettings beside FtwAgents"):
        PopulationSettings(agent=FtwAgents(), work=PpoWorkSettings())


def test_winners_are_rated_higher() -> None:
    population, _ = made(evolution=EvolutionSettings(enabled=False))
    for _ in range(5):
        population.play_round()
    assert [member.id for member in population.best] == [3, 2, 1, 0]


def test_a_copy_takes_weights_genes_rewards_and_rating_and_its_lineage_is_kept() -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=200, chance=0.0, redraw=0.0))
    rounds, plays = [], []
    for _ in range(6):
        rounds.append(population.play_round())
        plays.append([one.play for one in workers.done])
    assert rounds[0].copies == ()  # within the burn-in
    number, first = next((number, done.copies) for number, done in enumerate(rounds) if done.copies)
    copy = next(one for one in first if one.parent not in [other.child for other in first])
    assert copy.child < copy.parent
    child, parent = (rounds[number].members[one] for one in (copy.child, copy.parent))
    assert (child.genes, child.rewards) == (parent.genes, parent.rewards)
    assert (child.parent, child.generation, child.founder) == (copy.parent, 1, parent.founder)
    assert child.decisions == 0
    after = workers.tasks[number + 1]
    assert after[copy.child].learner == after[copy.parent].learner
    assert after[copy.child].play is plays[number][copy.child]  # its races go on


@pytest.mark.parametrize(("memory", "rates"), [([np.zeros(10)], None), ([], (1, 2))])
def test_races_begin_anew_with_another_memory_or_another_rate(memory: list[Any], rates: tuple[int, ...] | None) -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=200, chance=1.0, frames_per_step=rates), agents=8)
    workers.memory = memory
    kept = set()
    for _ in range(12):
        before = population.members
        copies = population.play_round().copies
        after = population.members
        population.play_round()
        for copy in copies:
            same = before[copy.child].genes.get("frames_per_step") == after[copy.child].genes.get("frames_per_step")
            assert (workers.tasks[-1][copy.child].play is not None) == (same and not memory)
            kept.add(same)
    assert kept == ({True, False} if rates else {True})


def test_copies_change_what_they_inherit_as_the_settings_say() -> None:
    population, _ = made(evolution=EvolutionSettings(burn_in=200, chance=1.0, change=0.4, redraw=0.0))
    copies: tuple[Copy, ...] = ()
    before = population.members
    while not copies:
        before = population.members
        copies = population.play_round().copies
    copy = next(one for one in copies if one.parent not in [other.child for other in copies])
    child, parent = population.members[copy.child], before[copy.parent]
    genes = [child.genes[name] / value for name, value in parent.genes.items()]
    rewards = [child.rewards[event] / value for event, value in parent.rewards.items() if value]
    assert {*np.abs(np.array(genes + rewards) - 1).round(9)} == {0.4}


def test_nobody_copies_before_the_burn_in_nor_without_evolution() -> None:
    for changed in ({"evolution": EvolutionSettings(burn_in=10_000)}, {"evolution": EvolutionSettings(enabled=False)}):
        population, _ = made(**changed)
        assert not any(population.play_round().copies for _ in range(5))


def test_agents_that_diverge_copy_one_that_has_not_and_nobody_copies_them() -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=10_000))
    workers.diverged = (0, 3)  # the best one, too
    done = population.play_round()
    assert done.diverged == (0, 3)
    assert [copy.child for copy in done.copies] == [0, 3]
    assert {copy.parent for copy in done.copies} <= {1, 2}
    workers.diverged = ()
    assert population.play_round().copies == ()
    for copy in done.copies:
        assert workers.tasks[-1][copy.child].learner == workers.tasks[-1][copy.parent].learner


def test_without_an_agent_to_copy_or_evolution_divergence_is_left_to_the_checkpoint() -> None:
    for diverged, enabled in ((range(AGENTS), True), ((0,), False)):
        population, workers = made(evolution=EvolutionSettings(enabled=enabled))
        workers.diverged = tuple(diverged)
        assert population.play_round().copies == ()


def test_the_best_agent_is_not_copied_once_it_has_diverged() -> None:
    population, workers = made(evolution=EvolutionSettings(burn_in=200))
    workers.diverged = (AGENTS - 1,)
    for _ in range(6):
        assert AGENTS - 1 not in [copy.parent for copy in population.play_round().copies]


def test_opponents_are_never_oneself_and_their_weights_come_along() -> None:
    for opponents in ("rated", "uniform"):
        population, workers = made(opponents=opponents)
        for _ in range(4):
            population.play_round()
        for tasks in workers.tasks:
            for number, order in tasks.items():
                assert number not in order.schedule
                assert {*order.schedule} <= {*order.rivals}


def test_opponents_of_equal_strength_are_met_most_often() -> None:
    population, workers = made(evolution=EvolutionSettings(enabled=False), opponents="rated")
    workers.races = False
    for _ in range(100):
        for rival, won in ((2, 0.5), (1, 0.75), (0, 0.95)):
            population.record.add(3, rival, won, 10.0)
        population.play_round()
    met = np.bincount([rival for tasks in workers.tasks for rival in tasks[3].schedule], minlength=AGENTS)
    assert met[2] > met[1] > met[0]


def test_agents_meet_those_that_decide_as_often_as_they_do_or_less_often() -> None:
    evolution = EvolutionSettings(burn_in=200, chance=0.5, frames_per_step=(1, 2))
    for opponents in ("rated", "uniform"):
        population, workers = made(evolution=evolution, opponents=opponents, agents=8)
        for _ in range(10):
            population.play_round()
        met = [
            (order.genes["frames_per_step"], order.rivals[rival].genes["frames_per_step"], number == rival)
            for tasks in workers.tasks
            for number, order in tasks.items()
            for rival in order.schedule
        ]
        assert {(own, theirs) for own, theirs, itself in met if not itself} == {(1.0, 1.0), (1.0, 2.0), (2.0, 2.0)}
        for tasks in workers.tasks:  # nobody but itself is left to one that decides least often
            rates = [order.genes["frames_per_step"] for order in tasks.values()]
            for number, order in tasks.items():
                assert (number in order.schedule) == (rates[number] == 2.0 and rates.count(2.0) == 1)


def test_the_first_agent_decides_as_often_as_the_race_says_and_the_others_draw_their_rate() -> None:
    settings = {"race": RaceSettings(frames_per_step=6), "evolution": EvolutionSettings(frames_per_step=(1, 3))}
    population, _ = made(**settings, agents=20)
    first, *others = [member.genes["frames_per_step"] for member in population.members]
    assert first == 6.0
    assert {*others} == {1.0, 3.0}
    alone, _ = made(agents=1, opponents="itself")
    (member,) = alone.members
    assert population.members[0].genes == {**member.genes, "frames_per_step": 6.0}
    assert population.members[0].rewards == member.rewards


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"environment": "CartPole-v1"}, "CartPole-v1 is no race"),
        ({"rivals": ("champion",)}, "rivals and teachers decide at one rate"),
        ({"teachers": ("champion",)}, "rivals and teachers decide at one rate"),
        ({"race": RaceSettings(frames_per_step=3)}, r"\[1, 2, 3\] .* a multiple of the one before"),
    ],
)
def test_rates_that_cannot_evolve_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=f"^evolution.frames_per_step: {said}"):
        SETTINGS.with_(evolution=EvolutionSettings(frames_per_step=(1, 2)), **changed)


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
    assert done.ratings.ratings[AGENTS] == 1000.0
    assert len(done.members) == AGENTS


@pytest.mark.parametrize(("rewards", "by_hand"), [("drawn", False), ("fixed", True), ("both", True)])
def test_rewards_begin_by_hand_or_drawn(rewards: str, by_hand: bool) -> None:
    population, _ = made(rewards=rewards)
    assert all((member.rewards == HAND_MADE) is by_hand for member in population.members)
    assert len({tuple(member.genes.values()) for member in population.members}) == AGENTS


def test_varied_rewards_are_multiples_of_those_made_by_hand() -> None:
    population, _ = made(rewards="varied")
    ratios = np.array(
        [
            [member.rewards[event] / weight for event, weight in HAND_MADE.items() if weight]
            for member in population.members
        ]
    )
    assert ((ratios >= 1 / 3) & (ratios <= 3)).all()
    assert (ratios < 1).any()
    assert (ratios > 1).any()
    assert len(np.unique(ratios)) == ratios.size  # a factor for each reward of each agent
    assert all(
        member.rewards[event] == 0 for member in population.members for event in HAND_MADE if not HAND_MADE[event]
    )
    by_hand, _ = made(rewards="both")
    assert [one.genes for one in population.members] == [one.genes for one in by_hand.members]


def test_rewards_made_by_hand_never_change() -> None:
    population, _ = made(rewards="fixed", evolution=EvolutionSettings(burn_in=0, chance=1.0))
    assert sum(len(population.play_round().copies) for _ in range(6)) > 3
    assert all(member.rewards == HAND_MADE for member in population.members)


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


def test_older_matches_count_less_each_round() -> None:
    population, _ = made(evolution=EvolutionSettings(enabled=False, fade=0.5))
    population.play_round()
    first = population.record.matches.sum()
    population.play_round()
    assert first > 0
    assert population.record.matches.sum() == pytest.approx(1.5 * first)


def test_a_copy_has_the_record_of_its_parent() -> None:
    population, _ = made(evolution=EvolutionSettings(burn_in=0))
    copies = next(found for found in (population.play_round().copies for _ in range(20)) if found)
    child, parent = copies[-1].child, copies[-1].parent
    others = [number for number in range(AGENTS) if number not in (child, parent)]
    np.testing.assert_array_equal(population.record.points[child, others], population.record.points[parent, others])
    assert population.record.matches[child, others].any()
