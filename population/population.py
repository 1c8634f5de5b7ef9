"""A population: in each round, agents play, learn, are rated and copy better ones."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import naming
from ..policies.policy import Policy
from .evolution import Member, exploit, explore, should_copy
from .history import Agent, Rated, Row
from .ratings import Ratings, Record, compare_scores, opponent_probabilities
from .rewards import initial_rewards
from .settings import PopulationSettings
from .training import AgentTrainer, Report, RivalState, TrainingResult, TrainingTask, Workers

FINISHED = 1000.0
"""Score of a finish in 0 s, for comparing runs: each second subtracts 1, and games without a finish score their
metres."""


class Population:
    """The agents, their learners' states, and the record of their matches.

    Rivals never learn and are numbered after the agents. The seed determines everything, regardless of which process
    plays the rounds.
    """

    def __init__(self, settings: PopulationSettings, trainer: AgentTrainer, workers: Workers, rivals: int = 0) -> None:
        self._settings, self._trainer, self._workers = settings, trainer, workers
        self._generator = np.random.default_rng(settings.seed)
        self._genes = settings.agent.genes
        self.rivals = rivals
        self.record = Record(settings.agents + rivals)
        self.round, self.decisions = 0, 0
        self.members: list[Member] = []
        self._learners: list[dict[str, Any]] = []
        self._play: list[dict[str, Any] | None] = []

    def begin(self, start: Sequence[tuple[str, Policy]] = ()) -> None:
        """Make the agents; the first ones start from the weights of the given policies, (name, policy) each.

        Raises BadInput if a policy does not fit.
        """
        random = self._generator
        for number in range(self._settings.agents):
            genes = {name: gene.draw(random) for name, gene in self._genes.items()}
            rewards = initial_rewards(self._settings.rewards, random)
            name, policy = start[number] if number < len(start) else (f"agent {number}", None)
            member = Member(number, 1000.0, genes, rewards if self._settings.is_race else {}, founder=number)
            self.members.append(member)
            with naming(name):
                self._learners.append(self._trainer.begin(genes, int(random.integers(2**31)), policy))
            self._play.append(None)

    def play_round(self, report: Report = lambda number: None) -> Row:
        """Play and train every agent, rate them, and copy better ones."""
        results = self._train(report)
        self._record(results)
        ratings = self.ratings()
        self.members = [replace(member, rating=float(ratings.ratings[member.id])) for member in self.members]
        diverged = [number for number, one in results.items() if one.diverged]
        evolves = self._settings.evolution.enabled and len(self.members) > 1
        copies = self._evolve(diverged) if evolves else []
        self.round += 1
        both = [Rated(rating=one, error=error) for one, error in zip(ratings.ratings, ratings.errors, strict=True)]
        return Row(
            round=self.round,
            decisions=self.decisions,
            agents=[
                Agent(**asdict(member) | rated.model_dump(), figures=results[member.id].figures)
                for member, rated in zip(self.members, both, strict=False)
            ],
            rivals=both[len(self.members) :],
            copies=copies,
            diverged=diverged,
        )

    def _train(self, report: Report) -> dict[int, TrainingResult]:
        before = self.ratings().ratings
        tasks = {member.id: self._task(member, self._schedule(member, before)) for member in self.members}
        results = self._workers.run_tasks(tasks, report)
        for number, one in results.items():
            self._learners[number], self._play[number] = one.learner, one.play
            member = self.members[number]
            self.members[number] = replace(member, decisions=member.decisions + self._settings.work.decisions)
            self.decisions += self._settings.work.decisions
        return results

    def ratings(self) -> Ratings:
        """Fit the ratings of all agents, then those of the rivals; the first rival's is pinned."""
        return self.record.ratings(pinned=len(self.members) if self.rivals else None)

    @property
    def best(self) -> list[Member]:
        """The agents, best first."""
        return sorted(self.members, key=lambda member: (-member.rating, member.id))

    def policy(self, member: Member) -> Policy:
        """Return an agent's current policy."""
        training = {"command": "qwop-population", "agent": member.id, "round": self.round, "genes": dict(member.genes)}
        return self._trainer.policy(member.genes, member.rewards, self._learners[member.id], training)

    def get_state(self) -> dict[str, object]:
        """State that the rest of the run depends on."""
        return {
            "round": self.round,
            "decisions": self.decisions,
            "generator": self._generator.bit_generator.state,
            "record": self.record.get_state(),
            "members": [asdict(member) for member in self.members],
            "learners": list(self._learners),
            "play": list(self._play),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`, with the same settings."""
        self.round, self.decisions = int(state["round"]), int(state["decisions"])
        self._generator.bit_generator.state = state["generator"]
        self.record.set_state(state["record"])
        self.members = [Member(**member) for member in state["members"]]
        self._learners, self._play = list(state["learners"]), list(state["play"])

    def _task(self, member: Member, schedule: tuple[int, ...]) -> TrainingTask:
        numbers = {*schedule, *_under_way(self._play[member.id])}
        rivals = {
            one.id: RivalState(one.genes, one.rewards, self._learners[one.id]["network"])
            for one in self.members
            if one.id in numbers
        }
        return TrainingTask(
            member.genes,
            member.rewards,
            self._learners[member.id],
            self._play[member.id],
            int(self._generator.integers(2**31)),
            rivals,
            schedule,
        )

    def _schedule(self, member: Member, ratings: NDArray[np.float64]) -> tuple[int, ...]:
        """Draw the opponents of a round; none if agents play alone."""
        if not self._settings.is_race:
            return ()
        if self._settings.opponents == "itself":
            return (member.id,)
        probabilities = opponent_probabilities(ratings, member.id)
        numbers = self._generator.choice(len(ratings), self._settings.work.opponents, p=probabilities)
        return tuple(int(number) for number in numbers)

    def _record(self, results: dict[int, TrainingResult]) -> None:
        """Add the round's matches, or comparisons of scores if agents do not meet."""
        self.record.fade(self._settings.evolution.fade)
        if not self._settings.is_race:
            compare_scores([np.array(one.scores) for one in results.values()], self.record)
        elif self._settings.opponents == "itself":
            scores = [
                [race.metres if race.seconds is None else FINISHED - race.seconds for race in one.races]
                for one in results.values()
            ]
            compare_scores(map(np.array, scores), self.record)
        else:
            for number, one in results.items():
                for race in one.races:
                    self.record.add(number, race.rival, race.result)

    def _evolve(self, diverged: Sequence[int]) -> list[tuple[int, int]]:
        """Let agents copy better ones; those that diverged copy any that has not, whatever their ratings."""
        how, random, copies = self._settings.evolution, self._generator, []
        sound = [member.id for member in self.members if member.id not in diverged]
        for number in range(len(self.members)):
            other = int(random.integers(len(self.members) - 1))
            other += other >= number
            if number in diverged and sound:
                other = int(random.choice(sound))
            member, parent = self.members[number], self.members[other]
            better = should_copy(member, parent, how.burn_in, better=how.better)
            if other in diverged or not (better or number in diverged):
                continue
            self.members[number] = explore(
                exploit(member, parent),
                random,
                self._genes,
                chance=how.chance,
                change=how.change,
                redraw=how.redraw,
                rewards=self._settings.rewards != "fixed",
            )
            self._learners[number] = self._learners[other]
            if (self._play[number] or {}).get("policy"):
                self._play[number] = None  # a memory of another agent's
            self.record.inherit(number, other)
            copies.append((number, other))
        return copies


def _under_way(play: dict[str, Any] | None) -> list[int]:
    """The rivals in the races in progress."""
    if play is None or "rival" not in play.get("env", {}):
        return []
    return [int(number) for number in np.unique(play["env"]["rival"])]
