"""Recording: sources of games, and the command that writes them to a dataset."""
