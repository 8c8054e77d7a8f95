"""Bugs in what is known: verdicts that are forgotten or withdrawn, words of launchers, and restarts in pods."""

from typing import Any

from msgspec.structs import replace

from muster.api import last_words
from muster.api.last_words import NO_REPORT, NONE
from muster.api.values import termination_message
from muster.assist.mounted.at_work import Others, Question
from muster.assist.mounted.place_watch import PlaceWatch
from muster.metrics.instruments import Instruments
from muster.state.facts.context import Context
from muster.state.policies import container_restarts, rendezvous
from muster.state.policies.failures import known
from muster.state.policies.failures import recurrence as known_again
from muster.state.policies.verdicts import Fail
from muster.state.summary import history
from muster.state.view.stage import Awaited
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit
from muster.state.vocabulary.record import Record
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "hang-cancel"), Hunt("clean", "image-cancel"), shown_by="and forgets")
@instead_of(known, "remembered")
def cancel_forgets(remembered: Any, context: Context, end: Fail) -> Fail:
    """The end of a run that a user cancels has no cause."""
    return end if end.reason == "Cancelled" else remembered(context, end)


@bug(Hunt("clean", "hang-kill"), Hunt("clean", "collective-kill", operator="pytorch"), shown_by="it should be")
def kill_from_outside_is_its_own() -> Swaps:
    """A member that is killed from outside in a gang that hangs is the cause."""
    return [swap(known, "was_killed", lambda pod: False)]


@bug(Hunt("clean", "hang-time-out"), Hunt("clean", "missing-kill"), shown_by="it should be")
def whoever_gives_up_is_blamed() -> Swaps:
    """A member that gives up is the cause, and not the one that it waited for."""
    return [swap(known, "cause", lambda context: None)]


@bug(Hunt("clean", "hang-segfault"), Hunt("clean", "hang-exit-1"), shown_by="and forgets")
def own_failure_hides_the_hang() -> Swaps:
    """What blocked the gang is in no sentence where a member fails by itself."""
    remembered = known.remembered
    return [swap(known, "remembered", lambda context, end: end if end.cause else remembered(context, end))]


@bug(Hunt("clean", "hang-asked-late"), shown_by="and the gang hangs")
@instead_of(PlaceWatch, "look")
def question_is_work(look: Any, self: PlaceWatch, now: float) -> None:
    """The CPU that a question for stacks costs is taken for work of the program."""
    answers, self._question = self._question, _Unasked()
    look(self, now)
    self._question = answers


class _Unasked(Question):
    def asked(self) -> bool:
        """Never."""
        return False


@bug(Hunt("clean", "evaluation-without-end"), shown_by="it says no progress since")
@instead_of(PlaceWatch, "look")
def question_moves_the_time(look: Any, self: PlaceWatch, now: float) -> None:
    """Each question moves the time since when a rank stands."""
    look(self, now)
    self.since, self._unsure = self.since + self._unsure, 0.0


@bug(Hunt("takeover", "collective-asked", operator="pytorch"), shown_by="the gang hangs")
def takeover_withdraws_the_hang() -> Swaps:
    """A daemon that takes over says that the gang makes progress, until it has seen for itself that it hangs."""
    return [swap(rendezvous, "_until_evidence", lambda context, gathered: gathered)]


@bug(Hunt("clean", "checkpoint-asked"), shown_by="its rank computes")
def writing_is_no_work() -> Swaps:
    """A rank that writes a checkpoint, and uses no CPU, is no rank at work."""
    return [swap(Others, "look", lambda others, now, main: "")]


@bug(Hunt("clean", "evaluation-asked"), shown_by="its rank computes")
def work_without_a_clock() -> Swaps:
    """The gang hangs after a minute, though a rank computes."""
    return [swap(Awaited, "outlasts", lambda awaited, seconds, patience: seconds >= 60.0)]


@bug(Hunt("clean", "torchrun-fails-otherwise", operator="pytorch"), shown_by="is said of an end")
def launchers_words_are_the_cause() -> Swaps:
    """The exception of torchrun is taken for the program's."""
    return [
        swap(last_words, "is_of_a_launcher", lambda found: False),
        swap(last_words, "reported", lambda lines: NO_REPORT),
    ]


@bug(Hunt("clean", "torchrun-fails-otherwise", operator="pytorch"), shown_by="its process ended by")
def child_unheard() -> Swaps:
    """A process that a signal has ended, by its launcher's word, ended with the launcher's exit code."""
    return [swap(Exit, "child", property(lambda end: NONE))]


@bug(Hunt("clean", "killed-without-words", operator="pytorch"), shown_by="is said of an end")
def old_line_is_the_last_word() -> Swaps:
    """What a member printed before its gang was at work is quoted as its last words."""
    return [swap(termination_message, "last_of", lambda lines: lines[-1].strip() if lines else "")]


@bug(Hunt("clean", "torchrun-fails-otherwise", operator="pytorch"), shown_by="called the same")
@instead_of(known_again, "_mark")
def failures_of_a_launcher_are_alike(mark: Any, context: Context, cause: Any) -> Any:
    """The failures of a program that a launcher starts are known by the launcher's exit code."""
    found = mark(context, cause)
    return found and found._replace(fingerprint=str(cause.exit_code))


@bug(Hunt("clean", "gang-restarts-often", size=1), shown_by="restarts in")
@instead_of(container_restarts, "track")
def restart_counted_once(track: Any, context: Context) -> Any:
    """Of the restarts of one container only the first is counted."""
    before = context.record.in_place
    return before if before is not None and before.count else track(context)


@bug(Hunt("clean", "gang-restarts-in-place", size=1), shown_by="restarts in")
@instead_of(container_restarts, "track")
def restart_counted_at_each_look(track: Any, context: Context) -> Any:
    """Each decision counts the restarts that the pods show."""
    found = track(context)
    return found and replace(found, count=found.count + context.tally.restarts)


@bug(Hunt("clean", "gang-restarts-in-place", size=1), shown_by="no Event says")
def restart_without_an_event() -> Swaps:
    """A restart in a pod is counted, and no Event says it."""
    return [swap(history, "in_place_turns", lambda before, after: iter(()))]


@bug(Hunt("clean", "gang-restarts-often", size=1), shown_by="the metric has")
@instead_of(Instruments, "transition")
def restarts_in_the_metric_again(
    transition: Any, self: Instruments, plan: Plan | None, old: Record | None, *new: Any
) -> None:
    """The metric counts all restarts in the pods of a run again at each of them."""
    transition(self, plan, replace(old, in_place=None) if old is not None else None, *new)
