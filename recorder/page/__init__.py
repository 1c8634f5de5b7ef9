"""A local web page where a person plays the embedded game; the engine runs in this process."""
