"""Races: runners side by side, each in an exact world of its own."""
