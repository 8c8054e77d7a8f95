"""Moments that dashboards mark."""

from deploy.grafana.row import Mark

_RESTARTS = "max by (reason) (muster_experiment_restarts_total{@chosen}"

RESTARTS = Mark(
    "Restarts",
    f"{_RESTARTS}) - ({_RESTARTS} offset $__interval) or {_RESTARTS}) * 0) > 0"
    " and on () max(muster_experiment_gang_restarts_total{@chosen} offset $__interval)",
    "Restart: {{reason}}",
    "purple",
)
"""The restarts of one experiment. The series of a reason begins with its first restart, so no rate shows that one."""

LEADERS = Mark(
    "Changes of the leader",
    "max by (instance) (muster_leader) == 1 unless on (instance) "
    "max by (instance) (last_over_time(muster_leader[10m] offset $__interval)) == 1",
    "{{instance}} leads",
    "blue",
)
"""Each daemon that leads and did not when it was scraped before. One whose scrapes failed for a while led before."""

VERSIONS = Mark(
    "Versions of musterd",
    "max by (version) (muster_build_info) unless on (version) "
    "max by (version) (last_over_time(muster_build_info[10m] offset $__interval))",
    "musterd {{version}} runs",
    "gray",
)
"""Each version that runs and did not before, so that what changed can be set against an upgrade."""
