"""Stand-ins for what the daemon talks to: in memory, or over real sockets on loopback."""
