"""A TrainJob of Kubeflow Trainer (version v2) as an Experiment.

Its pod template is in a runtime that the cluster holds and the manifest only names; so a TrainJob is converted where it
states image and command itself, and its runtime is named after a framework that Muster runs.
"""

from collections.abc import Mapping
from typing import Any, Final

from muster.api.manifest.problems import quoted
from muster.api.names import CONTAINER
from muster.kinds.convert.draft import Converter, Draft, Fields
from muster.kinds.convert.pod import deadline_of, line_of, resources_of, spec_of, suspend_of

FRAMEWORKS: Final = {"jax": "jax", "torch": "pytorch", "xgboost": "xgboost"}
"""Words in the name of a runtime, and the operator."""
VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "jax": {
        "JAX_NUM_PROCESSES": "$(JAXOPERATOR_NUM_PROCESSES)",
        "JAX_PROCESS_ID": "$(JAXOPERATOR_PROCESS_ID)",
    },
}
"""By operator, the variables of Kubeflow Trainer that Muster does not set itself."""


def trainjob(draft: Draft, source: Fields) -> None:
    """Write the Experiment of a TrainJob."""
    spec = spec_of(draft, source)
    runtime = spec.fields("runtimeRef")
    name = runtime.text("name")
    operator = next((operator for word, operator in FRAMEWORKS.items() if word in name), "")
    if not operator:
        message = f"the runtime {quoted(name)} is in the cluster, and its name contains no framework that Muster runs"
        raise draft.report.refuse(runtime.at("name"), message, f"a name contains one of {', '.join(FRAMEWORKS)}")
    runtime.note("what the runtime itself states is not known here", "compare kubectl get clustertrainingruntime")
    trainer = spec.fields("trainer")
    image, words = trainer.text("image"), [*trainer.words("command"), *trainer.words("args")]
    if not image or not words:
        hint = "write spec.trainer.image and spec.trainer.command, as the runtime has them"
        raise draft.report.refuse(trainer.loc, "image or command is the runtime's, which is in the cluster", hint)
    draft.spec |= {"operator": operator, "image": image, "command": line_of(words)}
    resources, others = resources_of(trainer, "resourcesPerNode")
    main: dict[str, Any] = draft.placed({"name": CONTAINER}, trainer.loc, carried=True)
    variables = VARIABLES.get(operator, {})
    own = [each for each in _environment(draft, trainer) if str(each.get("name")) not in variables]
    if environment := [*({"name": key, "value": value} for key, value in variables.items()), *own]:
        main["env"] = environment
    if others:
        main["resources"] = draft.placed(others, trainer.at("resourcesPerNode"), carried=True)
    worker: dict[str, Any] = draft.placed({"count": trainer.number("numNodes", 1), "resources": resources}, trainer.loc)
    if environment or others:
        worker["template"] = {"spec": {"containers": [main]}}
    trainer.lose("numProcPerNode", "not carried over", "write --nproc-per-node into the command of torchrun")
    trainer.rest()
    draft.spec["types"] = {"worker": worker}
    deadline_of(draft, spec)
    suspend_of(draft, spec)
    spec.lose("initializer", "not carried over: data and model must be there already", "mount them in the template")
    spec.rest()


def _environment(draft: Draft, trainer: Fields) -> list[Any]:
    node = trainer.take("env")
    found = draft.carry(node, trainer.at("env")) if node is not None else []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


DECLARED: Final = (Converter("TrainJob", "trainer.kubeflow.org/v1alpha1", trainjob),)
