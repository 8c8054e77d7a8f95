"""The clocks: one row for each deadline, with when it runs, its reason and its sentence.

======================  =======================================  ==========================================
clock                   runs from                                until
======================  =======================================  ==========================================
``total``               the start (again after a suspension)     the experiment finished; restarts do not stop it
``pending``             the epoch's launch                       every member has a node
``starting``            every member has a node                  the first process of the epoch runs
``assembly``            the first process of the epoch runs      the roll is complete
``run``                 the roll is complete                     the experiment finished, or the epoch ended
``progress``            the last sign of progress of the epoch   the same; each sign restarts it
``terminating``         pods that must go are asked to           they are gone
======================  =======================================  ==========================================

The ``run`` clock of a JobSet (``kinds.jobset.rules``) runs from the epoch's launch until some groups have succeeded.

A spec sets ``after`` and ``action`` of a row under its name in ``spec.clocks``; a clock that is not set does not run.
The order of the rows is the order in which clocks that have run out are judged.
"""

from muster.state.vocabulary.rules import ClockAction, ClockName, ClockRule, Moment

CLOCKS = (
    ClockRule(
        ClockName.TOTAL,
        Moment.STARTED,
        Moment.FINISHED,
        "DeadlineExceeded",
        "the experiment did not finish {within}",
        action=ClockAction.FAIL,
    ),
    ClockRule(
        ClockName.PENDING,
        Moment.EPOCH_STARTED,
        Moment.SCHEDULED,
        "PendingDeadlineExceeded",
        "only {scheduled}/{size} members got a node {within}",
    ),
    ClockRule(
        ClockName.STARTING,
        Moment.SCHEDULED,
        Moment.ASSEMBLING,
        "StartingDeadlineExceeded",
        "no program started {within}: {idle}",
        after=600.0,
    ),
    ClockRule(ClockName.ASSEMBLY, Moment.ASSEMBLING, Moment.ASSEMBLED, "AssemblyDeadlineExceeded", "{roll}"),
    ClockRule(
        ClockName.RUN,
        Moment.ASSEMBLED,
        Moment.FINISHED,
        "RunDeadlineExceeded",
        "only {done} of {size} members ended {within}",
    ),
    ClockRule(
        ClockName.PROGRESS,
        Moment.PROGRESSED,
        Moment.FINISHED,
        "ProgressDeadlineExceeded",
        "{done} of {size} members have ended; no sign of progress {within}",
    ),
    ClockRule(
        ClockName.TERMINATING,
        Moment.ENDING,
        None,
        "TerminatingDeadlineExceeded",
        "{lingering} did not end {within}",
        after=120.0,
        while_idle=True,
    ),
)
"""Two rows have a default, with the action Alert. ``terminating``, 120 s: old pods that take this long to end block the
next epoch. ``starting``, 600 s: a volume that cannot be mounted shows nowhere else, and few images take as long."""
