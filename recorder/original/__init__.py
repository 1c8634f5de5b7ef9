"""Games on the page of the original QWOP, played there by a person or a policy."""
