"""Policies: networks, observation scaling, policy files, and games played by a policy."""
