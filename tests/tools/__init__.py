"""Programs that tests need and package indexes do not have: built from pinned Go modules, once, into a cache."""
