"""Coaching: a policy runs, and a person takes over, hands back and goes back in the game."""
