"""What learns: an agent in a folder of its own, and what they share."""
