"""The For The Win agent (Jaderberg et al. 2019): V-trace at two time scales, with auxiliary tasks."""
