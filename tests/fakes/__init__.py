"""Stand-ins for what the daemon talks to, played over real sockets on loopback."""
