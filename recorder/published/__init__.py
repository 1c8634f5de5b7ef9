"""Published recordings: expert files of stable-baselines, converted to episodes."""
