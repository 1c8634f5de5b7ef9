"""Phases of training, and what decides when one ends."""
