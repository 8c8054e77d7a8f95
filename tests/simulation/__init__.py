"""The simulation: the whole daemon in a world in which time, the API server and every misfortune are made.

Theory of operation
===================
The real ``muster.daemon.app.Daemon`` runs unmodified on an event loop whose time is virtual. It talks through a
``door`` to an API server in memory (``tests.fakes.api``), where scheduler, kubelets and programs (``kubelet``,
``gang``) carry its pods through their lives. A ``plan`` is one line of text: a scenario, a size, and what goes wrong.

Nothing is random but what a seed says. So a plan has one history, a run in which nothing goes wrong tells where faults
can strike (at every write, every event, every resourceVersion), and ``families`` lists all the plans that follow. Each
is judged while it runs (``invariants``) and at its end (``oracles``).

    python -m tests.simulation                        every plan, and 5,000 random ones
    python -m tests.simulation --replay 'happy:n=4:crash-after=3'    one plan, told step by step
"""
