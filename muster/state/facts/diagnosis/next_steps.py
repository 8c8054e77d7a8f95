"""The next step of a person for a cause: the words of its row, with the names of the member's objects."""

import re
from typing import Final

from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.context import Context
from muster.state.facts.sentences import expected_name
from muster.state.vocabulary.plan import Engine

STACKS: Final = "muster stacks NAME -n NAMESPACE"
LOGS: Final = "muster logs NAME -n NAMESPACE --rank RANK"
OF_PODS: Final = {LOGS: "kubectl logs POD -n NAMESPACE", STACKS: "kubectl exec POD -n NAMESPACE -- py-spy dump --pid 1"}
"""Commands for pods that a selector chose: no command of Muster finds them by a name."""
WITHOUT_HELP: Final = " (for stacks it needs spec.assist, or py-spy in the image)"
"""The words after the command if no known part of Muster in the process answers for its stacks."""
RESTART: Final = " (muster restart NAME -n NAMESPACE)"
"""The words that are left out for kinds that the command does not restart."""
_WORDS = re.compile(r"\b(NAME|NAMESPACE|POD|CONTAINER|RANK|NODE)\b")


def next_step(context: Context, cause: MissingCause, rank: int, node: str) -> str:
    """Return the next step for that member, with the names of its objects: a command can be copied unchanged."""
    plan, pod = context.plan, context.tally.members.get(rank)
    names = {
        "NAME": plan.title,
        "NAMESPACE": plan.namespace,
        "POD": pod.name if pod else expected_name(context, plan.member(rank)),
        "CONTAINER": pod.holder.rpartition(" ")[2] if pod else "",
        "RANK": str(rank),
        "NODE": node or (pod.node if pod else ""),
    }
    text = cause.watched if cause.watched and plan.engine is Engine.WATCH else cause.next_step
    text = (cause.step(context) if cause.step is not None else "") or text
    if plan.watching.chosen:
        for ours, theirs in OF_PODS.items():
            text = text.replace(ours, theirs)
    if not _answers_for_stacks(context):
        text = text.replace(STACKS, STACKS + WITHOUT_HELP)
    if "/" in plan.title:
        text = text.replace(RESTART, "")
    return _WORDS.sub(lambda word: names[word[0]] or word[0], text)


def _answers_for_stacks(context: Context) -> bool:
    """Return True if members have ``spec.assist``, or have reported steps: then ``muster`` in them answers."""
    record = context.record
    reports = context.view.progress_of(record.epoch) is not None or record.steps is not None
    return reports or any(group.pod.assist for group in context.plan.groups)
