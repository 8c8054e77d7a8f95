"""The rules among the rows of the table of causes."""

from collections import Counter

from muster.state.facts.causes.table import CAUSES, COUNTED, OTHERWISE, counted
from muster.state.view.stage import Shown, Stage


def check() -> None:
    """Raise ``ValueError`` for a row that breaks a rule among the rows."""
    for stage in Stage:
        rows = [cause for cause in CAUSES if stage in cause.stages]
        if sum(not cause.reasons and not cause.when for cause in rows) != 1:
            raise ValueError(f"one cause of the stage {stage.name} has neither reasons nor a condition: {rows}")
        for cause in rows:
            if cause.when and counted(cause) is not counted(OTHERWISE[stage]):
                raise ValueError(f"{cause} is read from a condition: it is counted as {OTHERWISE[stage]}")
    names = Counter(cause.value for cause in CAUSES)
    if names.total() > len(names):
        raise ValueError(f"two causes are named {names.most_common(1)[0][0]}")
    shown = Counter(Shown(at, reason) for cause in CAUSES for at in cause.stages for reason in cause.reasons)
    for shows in (shows for shows, count in shown.items() if count > 1):
        raise ValueError(f"two causes name {shows.reason} of the stage {shows.stage.name}")
    for cause in CAUSES:
        if cause.when and cause.reasons:
            raise ValueError(f"{cause} has reasons and a condition")
        if cause.counted_as and counted(cause) not in COUNTED:
            raise ValueError(f"{cause} is counted as {cause.counted_as}, which is not counted")


def test_the_rows_keep_the_rules_of_the_table() -> None:
    check()
