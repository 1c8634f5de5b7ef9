"""Replay memories and demonstrations."""
