"""`QWOP-v1`: task, observations, rewards, the environment, its vector form and replay."""
