"""Races: runners side by side, each in its own exact world."""
