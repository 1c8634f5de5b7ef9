"""The engine in a browser: its own compiled code as WebAssembly, and the scripts that play games with it."""

from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""Folder of the module and of the scripts."""
