"""The experiments the daemon knows: how an object is read, what is known of it, and whether that is new enough."""
