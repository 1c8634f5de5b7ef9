"""The networks that a policy file can hold."""

from .networks import Actor, ActorCritic, Network, TanhActorCritic, ValuedActor
from .q_networks import DuelingQ, EnsembleQ, QNetwork
from .recurrent import RecurrentActorCritic
from .two_timescale import TwoTimescaleActorCritic

ARCHITECTURES: dict[str, type[Network]] = {
    one.architecture: one
    for one in (
        ActorCritic,
        Actor,
        ValuedActor,
        TanhActorCritic,
        QNetwork,
        DuelingQ,
        EnsembleQ,
        RecurrentActorCritic,
        TwoTimescaleActorCritic,
    )
}
"""Networks by the name that policy files give them. Register a network of your own here before loading its files."""
