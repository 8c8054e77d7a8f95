"""The programs of the gangs. Each is started with what ``course`` reads, and does what its way states.

Gang and harness signal by files: the gate is beside the folders of all gangs, the others are in the folder of each.
"""

GATE = "gate"
"""All gangs come to their ways once it exists."""
STEPS, HALTED, DONE = "steps", "halted", "done"
"""The gang steps; its way begins; a healthy one is over with it."""
AGAIN = "again"
"""A rank that was stopped goes on once it exists."""
