"""Helm, and what it renders. Where helm cannot be built, its tests are skipped, and the reason is printed."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.helm.manifests import render
from tests.tools.go_tool import HELM, CannotBuild

Object = dict[str, Any]
Rendered = Callable[..., list[Object]]


@pytest.fixture(scope="session")
def helm() -> Path:
    """The helm of tests/tools/helm; built once, which takes some minutes."""
    try:
        return HELM.path()
    except CannotBuild as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def rendered(helm: Path) -> Rendered:
    """Render the chart with values (``--set`` options, or anything else that `helm template` takes); the same values
    are rendered once."""

    @cache
    def documents(*options: str, **more: Any) -> list[Object]:
        found = yaml.load_all(render(helm, *options, **more), Loader=yaml.CSafeLoader)
        return [each for each in found if each]

    return lambda *options, **more: deepcopy(documents(*options, **more))


def one(objects: list[Object], kind: str, name: str = "") -> Object:
    """The object of a kind, of that name where the kind comes more than once."""
    (found,) = (each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"]))
    return found
