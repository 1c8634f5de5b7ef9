"""Live play by actors in separate processes, on this machine or a cluster, for one learner."""
