"""Atari games (extra `atari`) with the preprocessing of Mnih et al. 2015, single and vectorised."""
