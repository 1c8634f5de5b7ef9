"""Shared code: errors, settings, commands, files, pages, progress."""
