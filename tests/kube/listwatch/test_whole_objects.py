"""Objects as plain dictionaries."""

from typing import Any

import pytest

from muster.kube.listwatch.decoder import Unstructured


@pytest.mark.parametrize("metadata", [None, 3, {}, {"uid": "u"}, {"uid": "u", "resourceVersion": "x"}])
def test_an_object_needs_a_uid_and_a_version(metadata: Any) -> None:
    with pytest.raises(ValueError, match=r"uid|resourceVersion"):
        Unstructured({"metadata": metadata})
    with pytest.raises(ValueError, match="uid"):
        Unstructured({"metadata": {"resourceVersion": "5"}})
