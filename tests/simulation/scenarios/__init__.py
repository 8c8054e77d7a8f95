"""One file per scenario; each holds one ``SCENARIO``."""
