"""Whole numbers from fractional rates."""


class Due:
    """Accumulates fractional amounts and hands out their whole part: a rate of 0.25 gives 1 every fourth time."""

    def __init__(self) -> None:
        self._owed = 0.0

    def take(self, amount: float) -> int:
        """Add an amount; return the whole number that is due now and keep the rest."""
        self._owed += amount
        whole = int(self._owed)
        self._owed -= whole
        return whole

    def clear(self) -> None:
        self._owed = 0.0

    def get_state(self) -> float:
        return self._owed

    def set_state(self, state: float) -> None:
        self._owed = float(state)
