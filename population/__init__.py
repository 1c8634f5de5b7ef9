"""Populations of agents: ratings, matchmaking, and evolution by exploit and explore (Jaderberg et al. 2019)."""
