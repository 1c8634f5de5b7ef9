"""Search for better games than a policy's own, and distillation of the games found."""
