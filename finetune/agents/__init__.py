"""Learning agents, one folder each, and their common parts."""
