"""The life of an experiment as OpenTelemetry spans: which spans a transition closes, and how they are sent."""
