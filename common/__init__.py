"""For all rooms: errors, commands, progress."""
