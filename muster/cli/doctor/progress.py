"""Checks that the progress of members can reach musterd, if experiments ask for that."""

from collections.abc import Iterator, Sequence

from muster.api.values.printable import printable
from muster.cli.doctor.daemon import AREA, Release
from muster.cli.doctor.findings import Finding
from muster.client import Snapshot
from muster.kube.unstructured import mapping

CHECK = "progress endpoint"
SERVED = "--progress-port"
SILENT = 300.0
"""Seconds that an experiment runs without a report after which the way may be closed: first steps compile."""


def progress_endpoint(release: Release, every: Sequence[Snapshot], now: float) -> Iterator[Finding]:
    """Check the endpoint where a running experiment asks for it. ``now`` is in wall seconds of the API server."""
    asking = [
        seen for seen in every if not seen.finished and mapping(seen.raw.get("spec")).get("progressEndpoint") is True
    ]
    if not asking:
        return
    first = printable(f"{asking[0].namespace}/{asking[0].name}")
    if release.pods and not release.argument(SERVED, ""):
        what = f"{first} has spec.progressEndpoint, and musterd serves none ({SERVED} is not set)"
        yield Finding(AREA, CHECK, "warning", what, "set the chart's progress.secretName (docs/chart.md)")
        return
    silent = [
        s
        for s in asking
        if s.status.steps is None and s.phase == "Running" and now - (s.status.assembled_at or now) > SILENT
    ]
    heard = [seen for seen in asking if seen.status.steps is not None]
    if heard:
        yield Finding(AREA, CHECK, "ok", f"{len(heard)} of {len(asking)} experiments that ask for it have reported")
    elif silent:
        where = printable(f"{silent[0].namespace}/{silent[0].name}")
        what = f"{where} has run for more than {SILENT:g} s and has sent no step"
        remedy = (
            "either its program sends none, or it does not reach musterd: no NetworkPolicy may keep members from that "
            "port, their authority must be that of its certificate, and pods made before it was set up have no address"
        )
        yield Finding(AREA, CHECK, "warning", what, remedy)
    else:
        yield Finding(AREA, CHECK, "ok", f"{first} has it, and has not run long enough to judge")
