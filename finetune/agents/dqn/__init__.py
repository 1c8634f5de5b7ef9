"""Prioritised double DQN."""
