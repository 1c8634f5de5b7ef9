"""Rounds of coaching: correct a policy, learn from the corrections, and measure the gain."""
