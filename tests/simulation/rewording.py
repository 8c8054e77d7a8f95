"""Other words for Muster: ``install`` rewrites the sentences in the modules of ``muster.state`` as they are imported.

Letters of each literal that has a space change their case, except docstrings, patterns of regular expressions and what
is in braces. Nothing that is decided may follow from that (``test_traces``).
"""

import ast
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Final

ROOM: Final = "muster.state."
_BRACES: Final = re.compile(r"(\{[^{}]*\})")
_PATTERNS: Final = frozenset({"compile", "search", "fullmatch", "match", "sub"})
"""Functions of ``re``."""


def reworded(text: str) -> str:
    """The text in other words; names in braces stay."""
    return "".join(part if part.startswith("{") else part.swapcase() for part in _BRACES.split(text))


class Rewording(ast.NodeTransformer):
    """Rewrites the sentences of a module; ``changed`` counts them."""

    def __init__(self) -> None:
        self.changed = 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave docstrings."""
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave patterns."""
        of_re = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        if of_re and node.func.value.id == "re" and node.func.attr in _PATTERNS:  # type: ignore[attr-defined]
            return node
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Change the literal parts, if one has a space, and what is formatted."""
        spaced = any(isinstance(each, ast.Constant) and " " in str(each.value) for each in node.values)
        self.changed += spaced
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                each.value = self.visit(each.value)
            elif spaced and isinstance(each, ast.Constant):
                each.value = str(each.value).swapcase()
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Change a literal that has a space."""
        if isinstance(node.value, str) and " " in node.value:
            self.changed += 1
            return ast.copy_location(ast.Constant(reworded(node.value)), node)
        return node


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        return compile(Rewording().visit(ast.parse(source)), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(ROOM) else None
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    """Rewrite every module of ``muster.state`` that is imported from now on. None may be imported yet."""
    known: Any = [name for name in sys.modules if name.startswith(ROOM)]
    assert not known, f"imported before: {known[:3]}"
    sys.meta_path.insert(0, _Finder())
