"""Hydra configuration of the commands, and what every command shares."""
