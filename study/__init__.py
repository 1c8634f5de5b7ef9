"""Studies: a search of a command's settings, with repeats, and a fresh test of the best."""
