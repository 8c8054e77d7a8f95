"""Plant rows in the table of causes and print what follows: ``python -m tests.diagnosis.planted < ROWS``.

``ROWS`` is text for the class ``CannotStart``. It is put into the source of ``causes/cannot_start.py`` when that is
imported; nothing else of the program is changed. The gang has two members whose containers wait for ``DiskFull`` and
one whose program has ended with ``No space left on device``. What each place shows is printed as JSON.
"""

import json
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from importlib.util import spec_from_loader
from typing import Any, Final

TABLE: Final = "muster.state.facts.causes.cannot_start"
BEFORE: Final = "    UNSCHEDULABLE = MissingCause("
LOOK: Final = 5.0


class Planting(MetaPathFinder):
    """The finder of the one module that has more rows than its file."""

    def __init__(self, rows: str) -> None:
        self.rows = rows

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """The module with the rows."""
        found = PathFinder.find_spec(fullname, path, target) if fullname == TABLE else None
        if found is None or found.loader is None or found.origin is None:
            return None
        loader, rows = found.loader, self.rows

        class Loader(type(loader)):  # type: ignore[misc]
            def get_code(self, fullname: str) -> Any:
                source = self.get_source(fullname)
                assert source.count(BEFORE) == 1
                return compile(source.replace(BEFORE, rows + BEFORE), self.get_filename(fullname), "exec")

        return spec_from_loader(fullname, Loader(fullname, found.origin), origin=found.origin)


def said() -> dict[str, Any]:
    """What each place shows of the gang."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    from muster.cli.commands import explain
    from muster.client import Explanation
    from muster.client.explaining.lines import lines
    from muster.client.snapshot import snapshot_of
    from muster.daemon.web.page.document import Runbooks
    from muster.daemon.web.page.experiment import story
    from muster.metrics.collector import ExperimentCollector, Subject
    from muster.metrics.exposition import OPENMETRICS, look, write
    from muster.metrics.runbooks import of_reason
    from muster.rollcall.make import detail
    from muster.rollcall.seats import benches
    from muster.state.decide.machine import decide
    from muster.state.facts.causes.table import COUNTED
    from muster.state.facts.context import Context
    from tests.diagnosis.gang import Gang
    from tests.state.facts.causes.test_rows import check
    from tools.reasons.__main__ import page

    check()
    gang = Gang("jax")
    gang.start(0, 3)
    for rank in (1, 2):
        gang.wait(rank, "DiskFull", "no room for its layers")
    gang.hear(1, 2)
    gang.view.engine.service = gang.view.engine.answered = True

    def decided(seconds: float) -> Any:
        gang.now += seconds
        gang.record = decide(gang.plan, gang.record, gang.view, gang.now).record
        stuck = next(each for each in gang.record.conditions if each.type == "Stuck")
        return {"message": gang.record.message, "stuck": stuck.reason if stuck.status else ""}

    first = [decided(0.0), decided(LOOK - 1.0), decided(1.0)][-2:]
    subject = Subject(gang.plan, gang.record, gang.view)
    body, _ = write(look(ExperimentCollector(lambda: [subject], lambda: gang.now)), OPENMETRICS)
    samples = {
        sample.labels["cause"]: sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.name == "muster_experiment_ranks_missing_by_cause"
    }
    gang.end(3, 1, message="OSError: [Errno 28] No space left on device")
    gang.hear(1, 2, 3)
    context = Context.at(gang.plan, gang.record, gang.view, gang.now)
    one = detail(context)
    html = story(one, benches(context), {}, role="leader", now=gang.now, runbooks=Runbooks("http://books"))[1]
    manifest = gang.manifest | {"status": gang.record.to_object()}
    found = Explanation(snapshot_of(manifest), (), (), pods=tuple(gang.objects.values()))
    return {
        "status": first,
        "counted": [cause.value for cause in COUNTED],
        "samples": samples,
        "runbook": of_reason("DiskFull"),
        "json": [{"cause": each.cause, "sentence": each.sentence, "next": each.next_step} for each in one.findings],
        "why": {each.rank: each.why for each in one.missing_ranks},
        "html": html,
        "explain": explain.document(found, gang.now)["findings"],
        "explained": list(lines(found, gang.now)),
        "docs": page(),
    }


if __name__ == "__main__":
    sys.meta_path.insert(0, Planting(sys.stdin.read()))
    json.dump(said(), sys.stdout)
