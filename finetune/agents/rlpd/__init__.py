"""RLPD: reinforcement learning with prior data (Ball et al. 2023), for discrete actions."""
