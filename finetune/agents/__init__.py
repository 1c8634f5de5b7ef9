"""Agents, each in a folder of its own, and the parts that they share."""
