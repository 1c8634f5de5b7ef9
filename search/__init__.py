"""Better games than a policy plays, by search over saved states."""
