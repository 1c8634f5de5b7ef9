"""The game as a page that needs no server: the engine, policies and games in the browser."""
