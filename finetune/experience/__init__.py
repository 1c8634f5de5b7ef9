"""Live play, and the units that it is stored and learned in."""
