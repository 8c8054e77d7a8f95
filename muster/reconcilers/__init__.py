"""Actions become API writes: pods, services, status, Events."""
