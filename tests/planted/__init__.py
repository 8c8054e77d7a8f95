"""Planted bugs: does the simulation detect the known mistakes of controllers?

Theory of operation
===================
A simulation without violations proves something only if it detects bugs that exist. So each guard of the daemon is
disabled in turn, and the plans of ``tests.simulation`` are played against the daemon without it: each such bug must be
caught. Some guards cover for each other, and without one of them little or nothing goes wrong; so pairs of bugs are
planted as well.

A bug is one function, which is called in place of one of the product (``instead_of``) or makes patches, for the
duration of one plan; the product itself has no switches. It names the plans that hunt for it: the cheapest that catch
it, not all that would. The undamaged daemon must pass every plan that caught a bug.

    python -m tests.planted                       every bug, every pair, and the matrix of what caught which
    python -m tests.planted --only blind-write    one bug, and the plans that caught it
"""
