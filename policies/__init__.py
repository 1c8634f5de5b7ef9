"""Policies: networks, observation scaling, policy files, and rollouts."""
