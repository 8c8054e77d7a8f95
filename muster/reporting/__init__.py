"""What ``muster.report`` is made of: one reporter for a process, and the channels that it can write to."""
