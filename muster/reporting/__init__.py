"""The parts of ``muster.report``: one reporter for a process, and the channels that it can write to."""
