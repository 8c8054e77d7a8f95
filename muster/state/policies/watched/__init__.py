"""Rules of runs that other controllers own, by their status and their pods."""
