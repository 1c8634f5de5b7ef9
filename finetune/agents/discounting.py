"""Discounts with the same horizon in seconds at any decision rate."""

from dataclasses import dataclass, replace
from typing import Self

from ...common.settings import Settings, setting


def time_scaled_discount(gamma: float, reference_rate: float, rate: float) -> float:
    """γ^(reference_rate/rate): the discount at `rate` decisions a second with the horizon, in seconds, that γ has at
    `reference_rate`: 0.99 at 9 decisions a second is 0.9964 at 25."""
    return float(gamma ** (reference_rate / rate))


@dataclass(frozen=True)
class Discounted(Settings):
    """Settings with a discount."""

    gamma: float = setting(
        0.99,
        "Discount at gamma_rate decisions a second; at another rate the horizon in seconds stays the same.",
        at_least=0,
        at_most=1,
    )
    gamma_rate: float = setting(9.0, "Decisions a second at which gamma applies.", above=0)

    def at_rate(self, decisions_per_second: float | None) -> Self:
        """The settings with the same horizon in seconds at this decision rate; unchanged if the rate is unknown."""
        if decisions_per_second is None:
            return self
        gamma = time_scaled_discount(self.gamma, self.gamma_rate, decisions_per_second)
        return replace(self, gamma=gamma, gamma_rate=decisions_per_second)
