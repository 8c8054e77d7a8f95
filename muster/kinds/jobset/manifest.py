"""Fields of a manifest for the operator ``jobset``."""

from typing import Final

from muster.api.manifest.operators import ManifestOperator, Program, model_in, starter_in

DECLARED: Final = (
    ManifestOperator(
        name="jobset",
        types=model_in("jobset", "JobSetTypes"),
        starter=starter_in(__package__),
        staged=True,
        each=model_in("jobset", "JobSetType"),
        program=Program(about="they do not"),
    ),
)
