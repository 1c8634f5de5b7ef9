"""The networks that a policy file can hold."""

from .networks import Actor, ActorCritic, DuelingQ, EnsembleQ, Network, QNetwork
from .recurrent import RecurrentActorCritic
from .two_timescale import TwoTimescaleActorCritic

ARCHITECTURES: dict[str, type[Network]] = {
    one.architecture: one
    for one in (ActorCritic, Actor, QNetwork, DuelingQ, EnsembleQ, RecurrentActorCritic, TwoTimescaleActorCritic)
}
"""Networks by the name that policy files give them. A network of your own is entered here before its files are
loaded."""
