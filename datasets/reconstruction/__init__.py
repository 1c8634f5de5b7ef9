"""Published recordings frame by frame: the keys of every frame, found by playing the game until the samples agree."""
