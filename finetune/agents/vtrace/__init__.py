"""The V-trace actor-critic of IMPALA (Espeholt et al. 2018)."""
