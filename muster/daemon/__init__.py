"""The daemon: wiring, controller, informers, probes, HTTP server and shutdown. Only this room starts tasks."""
