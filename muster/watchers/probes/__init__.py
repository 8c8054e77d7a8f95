"""Probes: read-only requests to the coordinators of experiments."""

import os

# gRPC's C core prints the text of a peer's GOAWAY to standard error. A peer must not write to the daemon's log.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
