"""Source of the engine, in the part of Python that numba compiles; only `engine.build` imports it."""
