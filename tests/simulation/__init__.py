"""The simulation: the whole daemon on virtual time, against an API server in memory, with injected faults.

Theory of operation
===================
The real ``muster.daemon.app.Daemon`` runs unmodified on an event loop whose time is virtual (``world.virtual_loop``).
Its transport (``world.faulty_transport``) leads to an API server in memory (``tests.fakes.api``), where a scheduler,
kubelets and programs (``world.kubelet``, ``world.gang``) take its pods from creation to end. A plan is one line of
text: a scenario, a gang size, and the faults to inject.

Nothing is random except what the plan's seed decides, so one plan has one history. A run without faults shows where
faults can be injected (at every write, event and resourceVersion), and ``plans.families`` lists the plans that follow.
Each plan is judged while it runs (``oracles.invariants``) and when it has ended (``oracles.judge``).

    python -m tests.simulation                        every plan, and 5,000 random ones
    python -m tests.simulation --replay 'happy:n=4:crash-after=3'    one plan, printed step by step
"""
