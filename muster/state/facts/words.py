"""Words that differ by the creator of a run's pods."""

from typing import Final, NamedTuple

from muster.state.vocabulary.plan import Engine


class Words(NamedTuple):
    """Sentences; ``{kind}`` is the kind of the object, ``{epoch}`` the number of the epoch."""

    suspended: str
    restarting: tuple[str, str]
    """Reason and sentence."""
    not_created: str
    """The reason why a member has no pod, if nothing else is known."""
    beside: bool
    """True if wanted pods are created beside those no longer wanted, and the words name both."""


WORDS: Final = {
    Engine.NATIVE: Words(
        suspended="suspended by spec.suspend; set it to false to continue",
        restarting=("BackingOff", "epoch {epoch} starts after the back-off"),
        not_created="nothing known prevents its creation",
        beside=False,
    ),
    Engine.WATCH: Words(
        suspended="the {kind} is suspended",
        restarting=("AwaitingPods", "epoch {epoch} waits for pods of its controller"),
        not_created="its own controller has not created it",
        beside=True,
    ),
}
