"""A fault for the mutation test: a change of one file."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `before` (which occurs exactly once) becomes `after`."""

    name: str
    file: str
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The source with the fault; ValueError unless its place is found exactly once."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.name}: {self.before!r} occurs {source.count(self.before)} times in {self.file}")
        return source.replace(self.before, self.after)
