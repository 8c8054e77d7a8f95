"""Experiments that wait in a queue of Kueue: admitted late, evicted, drained, and a queue that is down or not there.

The quota is 4 CPUs, which is one gang of four. The queue answers within 15 ms.
"""

from functools import partial
from math import inf

from tests.scenarios.incidents import Fails
from tests.scenarios.operators import TOGETHER
from tests.scenarios.queue_actions import QueueAction, QueueDoes
from tests.scenarios.scenario import SUCCEEDED, End, Scenario, Trouble, UserAction, restarted, succeeded

row = partial(Scenario, quota=4)

SCENARIOS = (
    # The quota comes after a minute, in which no clock but the total runs: the pending clock would have fired.
    row(
        "queue-admits-late",
        SUCCEEDED,
        operators=TOGETHER,  # elsewhere one CPU is enough
        spec={"clocks": {"pending": {"after": "50s", "action": "Restart"}}},
        queue=(QueueAction(0.5, QueueDoes.QUOTA, 3), QueueAction(60.0, QueueDoes.QUOTA, 4)),
        troubles=(Trouble("ExceedsMaxQuota", ("maximum capacity",), since=1.0, within=5.0, until=60.5),),
    ),
    # Two experiments, and quota for one: the second runs after the first.
    row("queue-one-by-one", SUCCEEDED, others={"second": SUCCEEDED}),
    # A Workload of high priority takes the quota and gives it back a minute later.
    row(
        "queue-preempts",
        succeeded(epoch=1, disruptions=1, cause=("Preempted", None)),
        queue=(QueueAction(15.0, QueueDoes.SUBMIT, from_gang=True), QueueAction(75.0, QueueDoes.FINISH)),
        run=40.0,
    ),
    # A queue that is stopped is drained, and goes on a minute later.
    row(
        "queue-drained",
        succeeded(epoch=1, disruptions=1, cause=("ClusterQueueStopped", None)),
        queue=(QueueAction(15.0, QueueDoes.STOP, from_gang=True), QueueAction(75.0, QueueDoes.START)),
        run=40.0,
    ),
    # The Workload is deactivated by an administrator, and made active again.
    row(
        "queue-deactivates",
        succeeded(epoch=1, disruptions=1, cause=("Deactivated", None)),
        queue=(QueueAction(15.0, QueueDoes.DEACTIVATE, from_gang=True), QueueAction(75.0, QueueDoes.ACTIVATE)),
        troubles=(Trouble("Deactivated", ("deactivated",), since=15.0, within=inf, until=75.5),),
        run=40.0,
    ),
    # A member fails: the gang restarts inside its Workload, and the one that waits goes on waiting.
    row("queue-keeps-place", restarted(), incidents=(Fails(rank=-1),), others={"second": SUCCEEDED}),
    # Kueue does not run when the experiment is submitted.
    row(
        "queue-down",
        SUCCEEDED,
        queue=(QueueAction(0.2, QueueDoes.GO_DOWN), QueueAction(60.0, QueueDoes.COME_UP)),
        troubles=(Trouble("WebhookFailed", ("mworkload.kb.io",), since=1.0, within=5.0, until=95.0),),
        run=60.0,
    ),
    # Kueue is installed after the experiment was submitted, and found without a restart of the daemon.
    row(
        "queue-installed-later",
        SUCCEEDED,
        queue=(QueueAction(0.0, QueueDoes.UNINSTALL), QueueAction(60.0, QueueDoes.INSTALL)),
        troubles=(Trouble("QueueUnavailable", ("install Kueue",), since=1.0, within=5.0, until=95.0),),
        run=60.0,
    ),
    # Nothing is admitted before the total clock runs out.
    row(
        "queue-deadline",
        End("Failed", "DeadlineExceeded", clock=60.0),
        spec={"timeout": "60s"},
        queue=(QueueAction(0.5, QueueDoes.STOP),),
        families=("clean",),
    ),
    # Deleted while the gang runs: its quota goes to the next one when its last pod has ended.
    row(
        "queue-deleted", End(""), user_actions=(UserAction(15.0, delete=True),), others={"second": SUCCEEDED}, run=40.0
    ),
    # Suspended in its queue: the Workload goes with the pods, and the next epoch queues anew.
    row(
        "queue-suspended",
        succeeded(epoch=1, other_ends=1),
        user_actions=(UserAction(15.0, {"suspend": True}), UserAction(60.0, {"suspend": False})),
        run=40.0,
    ),
)
