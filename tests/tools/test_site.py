"""The site has every page once, links that leave docs/ are texts or lead to a forge, and llms.txt names each page."""

import json
from pathlib import Path

import pytest

from tools.site.__main__ import configuration
from tools.site.pages import address_of, llms, menu, sentence_of, sources, text_of, title_of
from tools.site.versions import main


def test_every_page_is_in_the_menu_once() -> None:
    assert sorted(page for entries in menu().values() for page in entries.values()) == sources()


def test_a_link_out_of_the_pages_is_a_text_or_leads_to_the_forge() -> None:
    assert "[examples/jax](../../examples/jax)" not in text_of("operators/jax.md")
    assert "examples/jax: a small network" in text_of("operators/jax.md")
    assert "[examples/jax](https://forge.example/muster/examples/jax)" in text_of(
        "operators/jax.md", "https://forge.example/muster"
    )


def test_links_to_pages_and_pictures_stay() -> None:
    text = text_of("dashboards.md")
    assert "(runbooks/README.md)" in text
    assert "(images/muster-fleet.svg)" in text


@pytest.mark.parametrize("page", sources())
def test_llms_names_the_page_with_a_sentence(page: str) -> None:
    line = next(line for line in llms().splitlines() if f"]({address_of(page) or './'})" in line)
    assert title_of(page)
    assert len(sentence_of(page).split()) > 2
    assert line.endswith(f": {sentence_of(page)}")


def test_the_front_page_opens_the_newest_version_and_the_theme_finds_all(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "assets"):
        (tmp_path / name).mkdir()
    main(tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [(each["version"], each["aliases"]) for each in listed] == [("0.10.0", ["latest"]), ("0.9.0", [])]
    assert 'url=0.10.0/"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert configuration("site")["extra"]["version"]["provider"] == "mike"
