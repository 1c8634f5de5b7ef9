"""Atari's games (extra `atari`) with the preprocessing of Mnih et al. 2015, as one game and as many."""
