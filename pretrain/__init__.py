"""Pretraining: a player's recorded decisions cloned into a policy, and what the clone is worth."""
