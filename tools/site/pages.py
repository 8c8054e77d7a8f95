"""The pages of the site: links out of docs/ are texts or lead to a forge, and the menu is that of docs/README.md."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
LINK: Final = re.compile(r"(?<!!)\[(?P<words>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
ROW: Final = re.compile(r"^\|(?P<who>[^|]*)\| (?P<links>.*) \|$", re.MULTILINE)
ENTRY: Final = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<page>[^)#]+\.md)\)")
NO_PROSE: Final = ("#", "<", "|", "!", ">", "-", "```")
SENTENCE: Final = re.compile(r".*?[.?!](?=\s|$)")
OTHERS: Final = "More"

Menu = dict[str, dict[str, str]]
"""The pages of each section, by their titles."""


def sources() -> list[str]:
    """Return the paths of all pages below docs/."""
    return sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def text_of(page: str, forge: str = "") -> str:
    """Return the text of a page for the site. ``forge`` is where the files of the repository are shown, if anywhere."""

    def there(found: re.Match[str]) -> str:
        if "://" in found["target"]:
            return found[0]
        path = PurePosixPath(os.path.normpath(PurePosixPath("docs", page).parent / found["target"]))
        if path.parts[0] == "docs" and path.suffix == ".md":
            return found[0]
        return f"[{found['words']}]({forge}/{path}{found['anchor'] or ''})" if forge else found["words"]

    return LINK.sub(there, (DOCS / page).read_text(encoding="utf-8"))


def title_of(page: str) -> str:
    """Return the first heading of a page."""
    found = TITLE.search((DOCS / page).read_text(encoding="utf-8"))
    assert found is not None, f"{page} has no title"
    return found[1].replace("`", "")


def sentence_of(page: str) -> str:
    """Return the first sentence of a page, without links; of a list that follows, what introduces it."""
    blocks = (DOCS / page).read_text(encoding="utf-8").split("\n\n")
    prose = next((block for block in blocks if not block.startswith(NO_PROSE)), "")
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    found = SENTENCE.match(words)
    return found[0] if found else words


def address_of(page: str) -> str:
    """Return where the site has a page."""
    return page.removesuffix("README.md") if page.endswith("README.md") else f"{page.removesuffix('.md')}/"


def menu() -> Menu:
    """Return the sections of docs/README.md, and in others what it does not name."""
    sections: Menu = {"Start": {"Documentation": "README.md"}}
    named = {"README.md"}
    overview = (DOCS / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    who = ""
    for row in ROW.finditer(overview):
        who = row["who"].strip() or who
        for entry in ENTRY.finditer(row["links"]):
            if ".." not in entry["page"] and entry["page"] not in named:
                sections.setdefault(who.capitalize(), {})[entry["title"]] = entry["page"]
                named.add(entry["page"])
    for page in sources():
        if page not in named:
            folder = PurePosixPath(page).parent.name
            section = {"runbooks": "Runbooks", "adr": "Decisions"}.get(folder, OTHERS)
            sections.setdefault(section, {})[title_of(page)] = page
    return sections


def llms() -> str:
    """Return llms.txt: each page with its first sentence, by section."""
    return "\n".join(("# Muster", *_listed(), ""))


def _listed() -> Iterator[str]:
    for section, entries in menu().items():
        yield from ("", f"## {section}", "")
        for title, page in entries.items():
            yield f"- [{title}]({address_of(page) or './'}): {sentence_of(page)}"
