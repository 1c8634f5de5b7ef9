"""Search for better games than a policy plays, and distillation of the games found."""
