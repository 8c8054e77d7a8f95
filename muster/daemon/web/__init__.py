"""musterd's HTTP server: metrics, health, roll calls."""
