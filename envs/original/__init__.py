"""The original game in its own page, in Chrome or Chromium: read, driven frame by frame, or left to run."""
