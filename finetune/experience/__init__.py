"""Live play, and the sequences and transitions that it is stored and learned as."""
