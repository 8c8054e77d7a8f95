"""Planted bugs: would the simulation notice the mistakes that controllers are known for?

Theory of operation
===================
A simulation that finds nothing proves something only if it finds what is there. So every guard of the daemon that a
known kind of bug lacked is taken out in turn, and the plans of ``tests.simulation`` are played against the daemon so
damaged: each mistake must be caught. Some guards stand in for each other, and without one of them little or nothing
goes wrong; so pairs of mistakes are planted as well.

A mistake (``bug``) is one function in ``deciding``, ``writing`` or ``watching`` that bends the product from outside, as
long as one plan is played: the product itself has no switches. It says which plans hunt for it, which are the cheapest
that catch it and not all that would. The undamaged daemon must pass every plan that was played.

    python -m tests.planted                       every bug, every pair, and the matrix of what caught which
    python -m tests.planted --only blind-write    one bug, and the plans that caught it
"""
