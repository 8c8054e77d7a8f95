"""``python -m deploy.lengths`` prints the words of each page and of its sentences; it fails above a limit.

A page without a row may have ``PAGE`` words. Who raises a limit gives the reason in the commit.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.lengths.measure import Length, measured

DOCS: Final = Path(__file__).parents[2] / "docs"
SUM: Final = 66_400
"""Words of all pages. The goal is 45,000."""
GENERATED_SUM: Final = 22_500
"""Words of the generated ones among them. The goal is 22,000."""
SENTENCE: Final = 17.0
"""Words of a sentence, on average over a page that is written by hand."""
PAGE: Final = 250
GENERATED: Final = frozenset(("cli.md", "manifest-reference.md", "metrics.md", "reasons.md", "runbooks/README.md"))
LIMITS: Final[dict[str, int]] = {
    "README.md": 400,
    "adr/README.md": 1800,
    "architecture.md": 1460,
    "chart.md": 2920,
    "cli.md": 4650,
    "dashboards.md": 900,
    "development.md": 1740,
    "diagnose.md": 600,
    "goodput.md": 850,
    "guide.md": 2300,
    "hangs.md": 1200,
    "incidents.md": 1500,
    "local-cluster.md": 600,
    "manifest-reference.md": 4750,
    "metrics.md": 3700,
    "on-call.md": 950,
    "operators/jax.md": 450,
    "operators/jaxjob.md": 700,
    "operators/jobset-objects.md": 1100,
    "operators/jobset.md": 400,
    "operators/kuberay.md": 1200,
    "operators/pytorch.md": 800,
    "operators/xgboost.md": 400,
    "other-kinds.md": 550,
    "platform.md": 2600,
    "pod-template.md": 1100,
    "policies.md": 1550,
    "queues.md": 650,
    "reading-the-roll-call.md": 1900,
    "reasons.md": 4950,
    "researcher.md": 1300,
    "restore.md": 450,
    "runbooks/README.md": 1600,
    "upgrading.md": 650,
    "watched-runs.md": 1600,
}
"""Words of a page at most."""


def lengths() -> dict[str, Length]:
    """Return the length of each page, by its path below docs/."""
    pages = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
    return {name: measured(page.read_text(encoding="utf-8")) for name, page in pages.items()}


def sums(found: dict[str, Length]) -> tuple[tuple[str, int, int], ...]:
    """Return the sums: title, words, limit."""
    whole = sum(length.words for length in found.values())
    made = sum(length.words for name, length in found.items() if name in GENERATED)
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


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    found = lengths()
    for name, length in sorted(found.items(), key=lambda each: -each[1].words):
        print(f"{length.words:6} of {LIMITS.get(name, PAGE):5} words, {length.average:4.1f} a sentence  {name}")
    for title, words, most in sums(found):
        print(f"{words:6} of {most:5} words  {title}")
    problems = list(exceeded(found))
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
