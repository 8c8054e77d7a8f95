"""``python -m tools.lengths`` prints the words of each page and of its sentences; it fails above a limit.

A page without a row may have ``PAGE`` words. Who raises a limit gives the reason in the commit. Words of
``tools.lengths.dialect`` fail, too.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.lengths.dialect import PLAIN, dialect
from tools.lengths.measure import Length, measured

DOCS: Final = Path(__file__).parents[2] / "docs"
SUM: Final = 45_000
"""Words of all pages."""
GENERATED_SUM: Final = 16_200
"""Words of the generated pages among them, and of generated parts of others."""
SENTENCE: Final = 15.0
"""Words of a sentence, on average over a page that is written by hand."""
PAGE: Final = 200
GENERATED: Final = frozenset(("cli.md", "manifest-reference.md", "metrics.md", "reasons.md", "runbooks/README.md"))
LIMITS: Final[dict[str, int]] = {
    "README.md": 340,
    "adr/README.md": 830,
    "architecture.md": 1970,
    "chart.md": 2105,
    "cli.md": 2920,
    "dashboards.md": 370,
    "development.md": 1200,
    "diagnose.md": 655,
    "goodput.md": 590,
    "guide.md": 1540,
    "hangs.md": 1000,
    "incidents.md": 950,
    "local-cluster.md": 350,
    "manifest-reference.md": 2870,
    "metrics.md": 2250,
    "on-call.md": 755,
    "operators/jax.md": 280,
    "operators/jaxjob.md": 440,
    "operators/jobset-objects.md": 540,
    "operators/jobset.md": 250,
    "operators/kuberay.md": 850,
    "operators/pytorch.md": 1050,
    "operators/xgboost.md": 270,
    "other-kinds.md": 390,
    "platform.md": 2510,
    "pod-template.md": 790,
    "policies.md": 1320,
    "publishing.md": 345,
    "queues.md": 530,
    "reading-the-roll-call.md": 1110,
    "reasons.md": 4350,
    "researcher.md": 1260,
    "restore.md": 370,
    "runbooks/README.md": 990,
    "runbooks/controllers.md": 390,
    "runbooks/coordinator.md": 265,
    "runbooks/musterd-away.md": 405,
    "runbooks/musterd-view.md": 420,
    "runbooks/ranks.md": 545,
    "runbooks/refusals.md": 290,
    "runbooks/restarts.md": 315,
    "runbooks/shared-causes.md": 370,
    "upgrading.md": 410,
    "watched-runs.md": 1230,
    "why.md": 650,
}
"""Words of a page at most."""


def lengths() -> dict[str, Length]:
    """Return the length of each page, by its path below docs/."""
    pages = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
    return {name: measured(page.read_text(encoding="utf-8")) for name, page in pages.items()}


def sums(found: dict[str, Length]) -> tuple[tuple[str, int, int], ...]:
    """Return the sums: title, words, limit."""
    whole = sum(length.words for length in found.values())
    made = sum(length.words if name in GENERATED else length.generated for name, length in found.items())
    return ("all pages", whole, SUM), ("generated", made, GENERATED_SUM)


def exceeded(found: dict[str, Length]) -> Iterator[str]:
    """Yield what is above its limit, and limits of pages that are gone."""
    for name, length in found.items():
        if length.words > (most := LIMITS.get(name, PAGE)):
            yield f"{name}: {length.words} words, at most {most}"
        if name not in GENERATED and length.average > SENTENCE:
            yield f"{name}: {length.average:.1f} words a sentence, at most {SENTENCE:g}"
    yield from (f"{name}: there is no such page" for name in LIMITS if name not in found)
    for title, words, most in sums(found):
        if words > most:
            yield f"{title}: {words} words, at most {most}"


def dialects() -> Iterator[str]:
    """Yield the pages that have words of the dialect, with what to write instead."""
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).as_posix()
        words = dialect(page.read_text(encoding="utf-8"))
        if words:
            yield f"{name}: {', '.join(f'{word} (write: {PLAIN[word]})' for word in words)}"


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    found = lengths()
    for name, length in sorted(found.items(), key=lambda each: -each[1].words):
        print(f"{length.words:6} of {LIMITS.get(name, PAGE):5} words, {length.average:4.1f} a sentence  {name}")
    for title, words, most in sums(found):
        print(f"{words:6} of {most:5} words  {title}")
    problems = [*exceeded(found), *dialects()]
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
