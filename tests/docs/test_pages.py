"""Every block of README.md and of the pages below docs/ is executed, run by a named test, or marked with a reason."""

import re
from collections.abc import Iterator

import pytest

from muster.api.manifest.load import load_manifest
from tests.docs.commands import ROOT, check, commands
from tests.docs.marks import GENERATED, NOT_RUN, RUN_BY
from tests.docs.pages import Block, Shell, absent, blocks, script, write_files

DOCS = ROOT / "docs"
PAGES = {name: ROOT / name for name in ("README.md", "CHANGELOG.md")} | {
    "docs/README.md" if page == DOCS / "README.md" else page.relative_to(DOCS).as_posix(): page
    for folder in (DOCS, DOCS / "operators", DOCS / "runbooks")
    for page in sorted(folder.glob("*.md"))
    if page.name not in GENERATED
}
BLOCKS = [(name, block) for name, page in PAGES.items() for block in blocks(page)]
EXECUTED = sorted({name for name, block in BLOCKS if block.is_executed})
SHOWN = {
    "README.md": (r"rank 0 \| process 0 of 4", "1 file OK", "4/4 ranks arrived", r"rank 0 \| done, loss"),
    "other-kinds.md": (
        r"dropped \(gpu\)",
        r"rank 0 \| job 0 of 2 is here",
        "echo hello from job",
        "lost: jobset.yaml:6:13: spec.network.subdomain",
        "exit status 4",
    ),
    "on-call.md": ("missing rank 2", "Stuck: RanksMissing", "rank 2 waits for data", "failed, as it should"),
    "reading-the-roll-call.md": ("Epoch 0 ended because rank 2", r"exit code 137 \(SIGKILL\)", "AllMembersSucceeded"),
    "researcher.md": (
        r"rank 0 \| process 0 of 2 is done",
        r"rank 0 \| process 0 of 2$",
        r"failed with exit status 1",
        r"daemon: ready at",
        r"^rank 1 \| process 1 of 2 is done",
        r"^20\d\d-\S+Z process 1 of 2 is done",
        r"again +Succeeded",
        r"sweep-1 Succeeded",
        r"experiment default/sweep-1 does not exist",
        r"cancelled",
    ),
}
"""What the commands of a page must print, among other things: a regular expression for each."""
COMMANDS = ("", "sh", "console")


def is_about(key: tuple[str, str], name: str, block: Block) -> bool:
    """Whether a key is about a block: its page, or the folder of its page, and the first words of the block."""
    page, words = key
    return (page == name or (page.endswith("/") and name.startswith(page))) and block.first.startswith(words)


def row(table: dict[tuple[str, str], str], name: str, block: Block) -> str:
    """What a table says of a block; an empty text if nothing."""
    return next((said for key, said in table.items() if is_about(key, name, block)), "")


def runners() -> Iterator[tuple[str, str]]:
    """The tests that run blocks, each with where that is said."""
    for name, block in BLOCKS:
        yield from ((f"{name}:{block.line}", test) for test in block.tests)
    yield from ((f"marks.py, {page}", test) for (page, _), test in RUN_BY.items())


@pytest.mark.drift
def test_every_block_is_executed_or_says_what_runs_it_or_why_nothing_does() -> None:
    bare = [
        f"{name}:{block.line}"
        for name, block in BLOCKS
        if not block.is_marked and not row(RUN_BY, name, block) and not row(NOT_RUN, name, block)
    ]
    assert bare == [], "mark each as tests/docs/pages.py says, or in tests/docs/marks.py"
    assert len(BLOCKS) > 40


@pytest.mark.drift
def test_no_block_is_marked_twice_and_no_mark_is_left_over() -> None:
    used: set[tuple[str, str]] = set()
    for name, block in BLOCKS:
        found = {key for key in (*RUN_BY, *NOT_RUN) if is_about(key, name, block)}
        assert len(found) + block.is_marked == 1, f"{name}:{block.line}"
        used |= found
    assert {*RUN_BY, *NOT_RUN} - used == set()


@pytest.mark.drift
@pytest.mark.parametrize(("where", "test"), list(runners()), ids=lambda text: str(text))
def test_every_test_that_runs_a_block_exists(where: str, test: str) -> None:
    path, _, name = test.partition("::")
    assert not absent(path, name), where


@pytest.mark.drift
@pytest.mark.parametrize(
    ("name", "block"),
    [each for each in BLOCKS if each[1].kind in COMMANDS],
    ids=lambda part: getattr(part, "first", part),
)
def test_every_command_exists_with_its_options(name: str, block: Block) -> None:
    if row(NOT_RUN, name, block) == "a drawing":
        pytest.skip("a drawing")
    body = block.body if not block.recorded else block.first
    for words in commands(body):
        check(words)


@pytest.mark.drift
def test_every_manifest_is_valid() -> None:
    checked = 0
    for name, block in BLOCKS:
        if block.kind == "yaml" and re.search(r"^kind: (AIchorManifest|Experiment)$", block.body, re.MULTILINE):
            load_manifest(block.body, filename=f"{name}:{block.line}")
            checked += 1
    assert checked >= 3


@pytest.mark.drift
def test_every_python_block_compiles() -> None:
    for name, block in BLOCKS:
        if block.kind == "python":
            compile(block.body, f"{name}:{block.line}", "exec")


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("pages")
@pytest.mark.parametrize("name", EXECUTED)
def test_every_command_of_the_page_works(name: str, shell: Shell) -> None:
    found = list(blocks(PAGES[name]))
    write_files(found, shell.folder)
    for folder in ("examples", "deploy"):
        (shell.folder / folder).symlink_to(ROOT / folder)
    shown = shell.run(script(found))
    for words in SHOWN.get(name, ()):
        assert re.search(words, shown, re.MULTILINE), f"{words}\n{shown}"
