"""Phases of training, and the rules that end them."""
