"""Games that a person plays in the browser's own engine, on the page of `qwop-play`."""
