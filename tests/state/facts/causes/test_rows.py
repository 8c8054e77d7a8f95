"""The rules among the rows of the table of causes."""

from collections import Counter

from muster.state.facts.causes.table import CAUSES, COUNTED, OTHERWISE, counted
from muster.state.view.stage import Stage


def check() -> None:
    """Find a row that breaks a rule."""
    for stage in Stage:
        rows = [cause for cause in CAUSES if stage in cause.stages]
        plain = sum(not cause.reasons and not cause.when for cause in rows)
        assert plain == 1, f"one cause of the stage {stage.name} has neither reasons nor a condition: {rows}"
        for cause in (cause for cause in rows if cause.when):
            assert counted(cause) is OTHERWISE[stage], f"{cause} has a condition: it is counted as {OTHERWISE[stage]}"
        (reason, number), *_ = Counter(["", *(each for cause in rows for each in cause.reasons)]).most_common(1)
        assert number == 1, f"two causes name {reason} of the stage {stage.name}"
    (name, number), *_ = Counter(cause.value for cause in CAUSES).most_common(1)
    assert number == 1, f"two causes are named {name}"
    for cause in CAUSES:
        assert not (cause.when and cause.reasons), f"{cause} has reasons and a condition"
        assert cause.in_roll or counted(cause) in COUNTED, (
            f"{cause} is counted as {counted(cause)}, which is not counted"
        )


def test_the_rows_keep_the_rules_of_the_table() -> None:
    check()
