"""Words that documents and messages do without, because a plain word exists: those of Vale's rule ``Plain``.

Code, quotes and pictures are not read: they show what programs print.
"""

import re
from pathlib import Path
from typing import Final

import yaml

RULE: Final = Path(__file__).parent / "styles/Muster/Plain.yml"
PLAIN: Final[dict[str, str]] = yaml.safe_load(RULE.read_text(encoding="utf-8"))["swap"]
"""Each with what to write instead."""
READ: Final = re.compile(
    r"^```.*?^```$|^ {4}.*?$|<!--.*?-->|`[^`]*`|^>.*?$|!\[[^\]]*\]|\]\([^)]*\)", re.MULTILINE | re.DOTALL
)
"""Parts that are not read."""
WORDS: Final = re.compile(rf"\b({'|'.join(re.escape(each) for each in PLAIN)})\b", re.IGNORECASE)


def dialect(text: str) -> list[str]:
    """Return the words of the list that a page has."""
    return [found.lower() for found in WORDS.findall(" ".join(READ.sub(" ", text).split()))]
