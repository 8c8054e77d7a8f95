"""How promptly musterd decides, what it asks of others, and what its process uses."""

from deploy.grafana.board import Row
from deploy.grafana.daemon.instances import CHOSEN, rate, tails
from deploy.grafana.panels import series
from deploy.grafana.parts import ORANGE, Head, Query, runbook
from deploy.grafana.promql import SPAN, quantile

PROMPT = Row(
    "How promptly it decides",
    (
        series(
            Head(
                number=30,
                title="Wait for a decision",
                description="From the first reason to decide about an experiment to the decision.",
                width=8,
            ),
            tails("muster_queue_wait_seconds"),
            "s",
        ),
        series(
            Head(
                number=31,
                title="Time of a decision",
                description="Decisions run on the event loop: a slow one delays all experiments.",
                width=8,
            ),
            tails("muster_decision_duration_seconds"),
            "s",
        ),
        series(
            Head(
                number=32,
                title="Lag of the event loop",
                description="How much later than asked the event loop woke its own timer. The budget is 20 ms at the "
                "99th percentile.",
                width=8,
            ),
            tails("muster_event_loop_lag_seconds"),
            "s",
            steps=((None, "transparent"), (0.02, ORANGE)),
        ),
    ),
)

REQUESTS = Row(
    "Requests and probes",
    (
        series(
            Head(
                number=40,
                title="Requests to the API server by outcome",
                description="Requests per second, watches excepted.",
                width=8,
            ),
            [
                Query(
                    rate("muster_api_request_duration_seconds_count", "verb, outcome") + " > 0",
                    "{{verb}}: {{outcome}}",
                )
            ],
            "reqps",
            stacked=True,
        ),
        series(
            Head(
                number=41,
                title="Duration of requests, 99th percentile",
                description="By verb and resource. A create that takes seconds is mostly an admission webhook.",
                width=8,
            ),
            [
                Query(
                    quantile(0.99, "muster_api_request_duration_seconds", SPAN, CHOSEN, "verb, resource") + " > 0",
                    "{{verb}} {{resource}}",
                )
            ],
            "s",
        ),
        series(
            Head(
                number=42,
                title="Requests that had to wait",
                description="Requests sent again because the API server asked to wait (429): musterd meets the limits "
                "of priority and fairness.",
                width=8,
            ),
            [
                Query(
                    f"sum by (verb, resource) (increase(muster_api_retries_total{{{CHOSEN}}}[{SPAN}])) > 0",
                    "{{verb}} {{resource}}",
                )
            ],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=43,
                title="Probes per second by what they saw",
                description="Probes of coordinators of all frameworks.",
                width=8,
            ),
            [Query(rate("muster_probe_requests_total", "kind, state") + " > 0", "{{kind}}: {{state}}")],
            "reqps",
            stacked=True,
        ),
        series(
            Head(
                number=44,
                title="Duration of probes, 99th percentile",
                description="By the kind of coordinator.",
                width=8,
            ),
            [
                Query(
                    quantile(0.99, "muster_probe_duration_seconds", SPAN, CHOSEN, "kind") + " > 0",
                    "{{kind}}",
                )
            ],
            "s",
        ),
        series(
            Head(
                number=45,
                title="Internal errors and steps of the clock",
                description="Internal errors by the place that caught them, and steps of this machine's wall clock of "
                "2 s or more. All are zero in a healthy daemon.",
                width=8,
                links=(runbook("MusterInternalErrors"),),
            ),
            [
                Query(
                    f"sum by (place) (increase(muster_internal_errors_total{{{CHOSEN}}}[{SPAN}]))",
                    "error: {{place}}",
                ),
                Query(f"sum(increase(muster_clock_steps_total{{{CHOSEN}}}[{SPAN}]))", "clock steps"),
            ],
            "short",
        ),
    ),
)

PROCESS = Row(
    "The process",
    (
        series(
            Head(
                number=50,
                title="Processor",
                description="Processor time of each daemon, as a share of one core.",
                width=8,
            ),
            [Query(f"rate(process_cpu_seconds_total{{{CHOSEN}}}[{SPAN}])", "{{instance}}")],
            "percentunit",
        ),
        series(
            Head(
                number=51,
                title="Memory",
                description="Resident memory. It grows with the pods that are tracked, by about 1 KB each.",
                width=8,
            ),
            [Query(f"process_resident_memory_bytes{{{CHOSEN}}}", "{{instance}}")],
            "bytes",
        ),
        series(
            Head(
                number=52,
                title="Open files",
                description="File descriptors, and how many the process may have. Connections to the API server and "
                "to coordinators are among them.",
                width=8,
            ),
            [
                Query(f"process_open_fds{{{CHOSEN}}}", "{{instance}}: open"),
                Query(f"process_max_fds{{{CHOSEN}}}", "{{instance}}: limit"),
            ],
            "short",
        ),
    ),
)
