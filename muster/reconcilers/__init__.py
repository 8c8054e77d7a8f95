"""The reconcilers: actions become API writes (pods, Services, status, Events)."""
