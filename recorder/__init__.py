"""Recording: who plays, and how the games get into a dataset."""
