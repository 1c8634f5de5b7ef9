"""A person at the keyboard, heard by pynput, while the game shows in a window."""
