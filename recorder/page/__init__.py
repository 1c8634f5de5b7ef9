"""Games played on a local web page; the engine runs in this process."""
