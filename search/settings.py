"""Settings of searching and of distilling."""

from dataclasses import dataclass

from ..common.settings import Settings, setting
from ..common.shared_settings import seed


@dataclass(frozen=True)
class SearchSettings(Settings):
    """Settings of the search."""

    hold: int = setting(1, "Decisions of the policy for which the search holds an action.", at_least=1, at_most=100)
    width: int = setting(32, "Games in the beam.", at_least=1, at_most=100_000)
    lookahead: int = setting(
        15, "Decisions that the policy plays before a candidate is judged.", at_least=1, at_most=1000
    )
    siblings: int = setting(3, "Successors of one game that may be kept; few keep the beam diverse.", at_least=1)
    likelihood: float = setting(
        0.01,
        "Metres that a game of the beam is worth for each nat of the policy's log-probability of its actions. It leads "
        "to states in which the policy is sure of what to do, and so to faster games.",
        at_least=0,
    )
    regret: float = setting(
        0.0,
        "Metres that it loses for each nat by which an action is less probable than the most probable one. With 3, "
        "only a few nearly even decisions of a game are not the policy's own, so that it can learn the games found.",
        at_least=0,
    )
    shortlist: int = setting(
        4, "Candidates played on for each game of the beam: those of the highest value.", at_least=1
    )


@dataclass(frozen=True)
class DistilSettings(Settings):
    """Settings of the distillation."""

    steps: int = setting(8000, "Steps of Adam.", at_least=1)
    learning_rate: float = setting(1e-4, "Adam's learning rate, which falls linearly.", above=0, at_most=1)
    margin: float = setting(
        0.01, "Margin m, in nats, by which a searched action shall be more probable than any other.", above=0
    )
    near: float = setting(
        0.06, "Margin below which a searched decision is trained on; those with larger ones need no training.", above=0
    )
    own: float = setting(0.1, "Weight of playing as before in states of the policy's own games.", at_least=0)
    batch: int = setting(6000, "Searched decisions of a step, at most.", at_least=1)
    own_batch: int = setting(512, "States of its own play in a step.", at_least=1)
    mine_every: int = setting(240, "Steps between searches for the decisions whose margin is below near.", at_least=1)
    seed: int = seed("Decides the minibatches, and the policy's own games.")
