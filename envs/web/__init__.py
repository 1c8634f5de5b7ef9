"""The engine in a browser: its own compiled code as WebAssembly, and the scripts that play games and policies with it."""
