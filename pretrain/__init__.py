"""Pretraining: cloning a player's recorded decisions into a policy, and measuring the clone."""
