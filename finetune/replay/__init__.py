"""Replay memories, and the demonstrations that enter them."""
