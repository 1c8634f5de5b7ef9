"""Live play, and the sequences and transitions that store it."""
