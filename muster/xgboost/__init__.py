"""The callback for XGBoost programs: ``from muster.xgboost import callback``.

XGBoost's tracker answers no questions, so reports go to musterd's endpoint, if the run has ``spec.progressEndpoint``.
xgboost is imported by ``callback``, and the daemon never imports this package.
"""

from collections.abc import Mapping
from typing import Any

from muster.programs import reports

__all__ = ["callback"]


def callback() -> Any:
    """Return a callback for ``xgboost.train(..., callbacks=[callback()])`` that reports each round before and after it.

    A rank that does not begin its round is behind those that wait for it inside the round. The newest value of each
    evaluation metric is reported beside the round, up to eight of them.
    """
    from xgboost.callback import TrainingCallback

    class Report(TrainingCallback):  # type: ignore[misc, unused-ignore]
        """The callback that reports rounds as steps."""

        def before_iteration(self, _model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
            reports.report(epoch, newest(evals_log))
            return False

        def after_iteration(self, _model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
            reports.report(epoch + 1, newest(evals_log))
            return False

    return Report()


def newest(evals_log: Mapping[str, Any]) -> dict[str, Any]:
    """Return the newest value of each metric: ``train-rmse`` for the metric rmse of the data train."""
    found: dict[str, Any] = {}
    for data, metrics in evals_log.items():
        for name, values in metrics.items():
            if values:
                last = values[-1]
                found[f"{data}-{name}"] = last[0] if isinstance(last, tuple) else last  # with a deviation, of cv()
    return found
