"""Names of pods that are replaced by addresses."""

import pytest

from muster.local.node.containers.process_spec import rewrite


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w-0.exp:1234", "<w-0.exp>:1234"),
        ("http://w-0.exp.default.svc.cluster.local:80/x", "http://<w-0.exp>:80/x"),
        ("a=w-0.exp,b=w-1.exp.default", "a=<w-0.exp>,b=<w-1.exp>"),
        ("w-0.exp.other", "w-0.exp.other"),
        ("w-0.experiment", "w-0.experiment"),
        ("train.exp2.py", "train.exp2.py"),
        ("plain text", "plain text"),
    ],
)
def test_only_names_of_the_pods_own_subdomain_are_rewritten(text: str, expected: str) -> None:
    assert rewrite(text, "default", "exp", lambda short: f"<{short}>") == expected
