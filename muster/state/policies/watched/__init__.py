"""Rules of runs that other controllers own: what their status and their pods say."""
