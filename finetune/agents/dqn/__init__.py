"""Deep Q-learning: DQN, and prioritised double DQN as the same agent with other settings."""
