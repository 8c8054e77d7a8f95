"""A coordinator's answer without the secrets of the run: what it says in words is of the run's own programs."""

from dataclasses import replace

from muster.api.values.secrets.environment import secrets_of, without_secrets
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.plan import Plan


def private(answer: RollAnswer, plan: Plan | None) -> RollAnswer:
    """The answer without the values of secrets in the plan's environment, and without what looks like a credential."""
    work = answer.work
    if not (answer.errors or (work and work.message) or answer.detail or answer.lacks or answer.unmet):
        return answer
    groups = plan.groups if plan is not None else ()
    secrets = secrets_of(*(group.template.get("spec") for group in groups))

    def cleaned(text: str) -> str:
        return without_secrets(text, secrets)

    return replace(
        answer,
        detail=cleaned(answer.detail),
        lacks=cleaned(answer.lacks),
        unmet=cleaned(answer.unmet),
        errors=tuple(error._replace(text=cleaned(error.text)) for error in answer.errors),
        work=work._replace(message=cleaned(work.message)) if work is not None else None,
    )
