"""Reconstruction of published recordings: the keys of every frame, found by playing the game until the samples
agree."""
