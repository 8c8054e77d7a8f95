"""From a row of a table to its experiment."""

from collections.abc import Mapping, Sequence

from deploy.grafana.parts import Link

NAMES = ("namespace", "experiment")
"""The labels that a table must have for these links."""

TO_EXPERIMENT: Mapping[str, Sequence[Link]] = {
    "experiment": (
        Link(
            "Dashboard of this experiment",
            "/d/muster-experiment?var-namespace=${__data.fields.namespace}&var-experiment=${__data.fields.experiment}"
            "&${datasource:queryparam}&${musterd:queryparam}&${__url_time_range}",
            outside=False,
        ),
        Link(
            "Roll call of this experiment",
            "${musterd}/experiments/${__data.fields.namespace}/${__data.fields.experiment}",
        ),
    )
}
"""The links of the cells of a column."""
