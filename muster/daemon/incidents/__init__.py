"""The search for incidents in the daemon that leads, and the facts about nodes that it needs."""
