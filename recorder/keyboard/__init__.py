"""Games played in a window by a person at the keyboard, which pynput listens to."""
