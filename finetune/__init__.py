"""Fine-tuning by reinforcement learning, with demonstrations that a schedule mixes in and removes."""
