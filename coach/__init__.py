"""Rounds of coaching: correct a policy, learn from it, say how much better it became."""
