"""Members whose program is started by a launcher, which ends with words of its own."""

from dataclasses import replace

from tests.fakes.launchers import Launcher, accelerate, bash, deepspeed, mpirun, torchrun
from tests.scenarios.incidents import Child, Fails, Incident
from tests.scenarios.recurrences import REASON, SAID
from tests.scenarios.scenario import End, Scenario, restarted

OPERATORS = ("pytorch", "jax")
FAMILIES = ("clean", "crash", "error", "hold", "drop", "takeover")
ENDS = {"restartPolicy": {"backoffLimit": 6, "sameFailureAction": "Fail"}}
LAUNCHERS: dict[str, Launcher] = {
    "torchrun": torchrun,
    "torchrun-tee": lambda said, code: torchrun(said, code, "[default0]:[rank1]: "),
    "accelerate": accelerate,
    "deepspeed": deepspeed,
    "mpirun": mpirun,
    "bash": bash,
}
DIFFERENT = (
    Child("RuntimeError: sample EPOCH7 is NaN"),
    Child(code=-9),
    Child("KeyError: 'EPOCH'"),
    Child("RuntimeError: sample EPOCH9 is NaN", line=88),
    Child(code=-11),
    Child(code=3),
)
"""No two of them in a row are the same failure."""


def _fails(launcher: str, *children: Child) -> tuple[Incident, ...]:
    """In each epoch the next of these processes fails."""
    return tuple(
        Fails(epochs=range(epoch, epoch + 1), child=replace(child, launcher=LAUNCHERS[launcher]))
        for epoch, child in enumerate(children)
    )


SCENARIOS = (
    *(
        Scenario(
            f"{launcher}-fails-otherwise",
            restarted(6),
            operators=OPERATORS,
            spec=ENDS,
            incidents=_fails(launcher, *DIFFERENT),
            troubles=SAID,
            families=FAMILIES[:1] if launcher not in ("torchrun", "mpirun") else FAMILIES,
        )
        for launcher in LAUNCHERS
    ),
    # The same exception at the same line ends it; the numbers in it, and the launcher's words, differ.
    *(
        Scenario(
            f"{launcher}-fails-again",
            End("Failed", REASON, epoch=2, restarts=2, cause=("Error", -1)),
            operators=OPERATORS,
            spec=ENDS,
            incidents=_fails(launcher, DIFFERENT[1], DIFFERENT[0], DIFFERENT[0]),
            troubles=SAID,
            families=FAMILIES[:1] if launcher != "torchrun" else FAMILIES,
        )
        for launcher in ("torchrun", "accelerate")
    ),
    # A member is killed, and printed nothing since its gang began to work.
    Scenario(
        "killed-without-words",
        restarted(2),
        operators=OPERATORS,
        incidents=(Fails(child=Child(code=-9)), Fails(child=Child(code=1), epochs=range(1, 2))),
        families=FAMILIES,
    ),
)
