"""The texts of a coordinator hold no secret of its run, whichever field has it."""

from dataclasses import replace
from typing import Any

import pytest

from muster.api.values.secrets import REMOVED
from muster.daemon.prober_pool import private
from muster.state.view.roll import CoordinatorState, RankError, RollAnswer, Work
from tests.builders import plan

VALUE = "k9#mQ2/vL+7x"
ENV = {"spec": {"containers": [{"name": "main", "env": [{"name": "API_TOKEN", "value": VALUE}]}]}}
WITH_SECRET = replace(plan(), groups=tuple(replace(group, template=ENV) for group in plan().groups))


def answer(**fields: Any) -> RollAnswer:
    return RollAnswer(at=1.0, coordinator=CoordinatorState.SERVING, **fields)


@pytest.mark.parametrize("said", [VALUE, f"token={VALUE}"])
@pytest.mark.parametrize(
    "fields",
    [
        lambda said: {"detail": said},
        lambda said: {"lacks": said},
        lambda said: {"unmet": said},
        lambda said: {"errors": (RankError(1, 14, said),)},
        lambda said: {"work": Work("job", "FAILED", said, ended=True)},
    ],
    ids=["detail", "lacks", "unmet", "errors", "work"],
)
def test_no_field_of_an_answer_holds_a_secret(fields: Any, said: str) -> None:
    left = private(answer(**fields(f"refused: {said} again")), WITH_SECRET)
    assert VALUE not in str(left)
    assert REMOVED in str(left)


def test_an_answer_without_words_is_the_same_one() -> None:
    given = answer()
    assert private(given, WITH_SECRET) is given


def test_of_a_run_without_a_plan_what_looks_like_a_credential_is_removed() -> None:
    assert private(answer(detail=f"password={VALUE}"), None).detail == f"password={REMOVED}"
    assert private(answer(detail="3/3 ranks arrived"), None).detail == "3/3 ranks arrived"
