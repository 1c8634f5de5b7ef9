"""Evaluation: many games of a policy, their figures and film, and the same games in the original page."""
