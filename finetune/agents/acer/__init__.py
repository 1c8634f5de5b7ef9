"""ACER: actor-critic with experience replay (Wang et al. 2017)."""
