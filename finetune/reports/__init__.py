"""The log of a run, and the reports drawn from it."""
