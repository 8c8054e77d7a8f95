"""Tokens are replaced before they expire."""

from pathlib import Path

import pytest

from muster.local.node.objects import Object
from muster.local.node.sources.environment import ConfigError
from muster.local.node.sources.volumes import lifetime, renew_tokens
from tests.local.node.harness import Pod
from tests.local.node.sources.test_volumes import FakeSources, placed


def projected(*sources: Pod) -> Pod:
    return {"name": "api", "projected": {"sources": list(sources)}}


TOKEN = {"serviceAccountToken": {"path": "token", "expirationSeconds": 1000}}


class Issuing(FakeSources):
    """Issues token 1, refuses once, issues token 3."""

    async def token(self, pod: Object, audience: str, seconds: int) -> str | None:
        issued = await super().token(pod, audience, seconds)
        if len(self.asked) == 2:
            raise ConfigError("the API server is away")
        return issued


async def test_a_token_is_replaced_at_four_fifths_of_its_life_and_a_refusal_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    seen: list[tuple[float, str]] = []
    file = tmp_path / "api" / "token"

    async def pause(seconds: float) -> bool:
        seen.append((seconds, file.read_text() if file.exists() else ""))
        return len(seen) == 4

    await renew_tokens(tmp_path, placed(projected(TOKEN)), Issuing(), pause, retry=2.0)
    assert seen == [(800, ""), (800, "token 1"), (2, "token 1"), (800, "token 3")]


async def test_a_pod_without_tokens_renews_nothing(tmp_path: Path) -> None:
    async def pause(_seconds: float) -> bool:
        raise AssertionError("nothing is waited for")

    await renew_tokens(tmp_path, placed({"name": "a", "emptyDir": {}}), FakeSources(), pause, retry=2.0)


@pytest.mark.parametrize(
    ("volume", "seconds"),
    [
        (projected(TOKEN), 1000),
        (projected({"serviceAccountToken": {"path": "token"}}, TOKEN), 1000),
        (projected({"serviceAccountToken": {"path": "token"}}), 3600),
        (projected({"configMap": {"name": "settings"}}), None),
        ({"name": "a", "emptyDir": {}}, None),
    ],
)
def test_the_life_of_a_volume_is_that_of_its_first_token_to_expire(volume: Pod, seconds: float | None) -> None:
    assert lifetime(volume) == seconds
