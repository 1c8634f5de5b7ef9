"""Running statistics of live play that scale the observations of a new network."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...policies.networks import LayeredNetwork
from ...policies.scaling import ObservationScaler, RunningStatistics
from ..experience.sequences import Sequences


class RunningScale:
    """Updates a new network's scaler with the statistics of all live play. A scaler that already has statistics stays
    fixed."""

    accepts_none = True

    def __init__(self, network: LayeredNetwork) -> None:
        self._network = network
        self._seen = None if network.scaler.fitted else RunningStatistics(network.observation_size)

    @contextmanager
    def learning_from(self, played: Sequences) -> Iterator[None]:
        """Context manager around an update on this live play. Its statistics are added before the first update, but
        after later ones.

        An untrained policy is nearly uniform at any scale, but learns little from unscaled observations. The ratios of
        later updates must start from the behaviour policy, and so from its scale.
        """
        first = not self._network.scaler.fitted
        if first:
            self._add(played)
        yield
        if not first:
            self._add(played)

    def get_state(self) -> dict[str, object] | None:
        return None if self._seen is None else self._seen.get_state()

    def set_state(self, state: dict[str, Any] | None) -> None:
        self._seen = None
        if state is not None:
            self._seen = RunningStatistics(self._network.observation_size)
            self._seen.set_state(state)

    def _add(self, played: Sequences) -> None:
        """Add the observations to the running statistics, if kept, and update the scaler."""
        if self._seen is not None:
            self._seen.add(played.observations[:, :-1].reshape(played.actions.size, -1))
            assert isinstance(self._network.scaler, ObservationScaler)  # no other scaler can lack statistics
            self._seen.put_into(self._network.scaler)
