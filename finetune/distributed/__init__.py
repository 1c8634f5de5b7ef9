"""Live play by actors in processes of their own, on this machine or on a cluster, for one learner."""
