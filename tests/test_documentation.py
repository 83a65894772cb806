"""The documentation: the reference has every public name, links lead somewhere."""

import importlib
import pathlib
import re

import pytest

import dpjax

DOCS = pathlib.Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("reference/*.md")])
GUIDES = [*DOCS.glob("how-*.md"), DOCS / "posteriors.md", DOCS / "which-epsilon.md"]
REFERENCE = "\n".join(p.read_text("utf-8") for p in (DOCS / "reference").glob("*.md"))
ROOMS = re.findall(r"^```\{room\} (dpjax[\w.]*)([ \w]*)\n```$", REFERENCE, re.MULTILINE)


def shown(path):
    """Names of a module that the reference documents."""
    names = set()
    for room, chosen in ROOMS:
        if room == path:
            names |= set(chosen.split() or importlib.import_module(path).__all__)
    return names


PUBLIC = [f"dpjax.{name}" for name in dpjax._ROOMS]


@pytest.mark.parametrize("path", PUBLIC)
def test_every_public_room_is_in_the_reference(path):
    room = importlib.import_module(path)
    assert shown(path) == set(room.__all__)


def test_every_public_name_of_the_package_is_in_the_reference():
    assert shown("dpjax") | {"recipes"} == set(dpjax.__all__)
    assert shown("dpjax.mechanisms.recipes") == set(dpjax.recipes.__all__)


def test_nothing_is_in_the_reference_twice():
    whole = [room for room, chosen in ROOMS if not chosen]
    assert len(set(whole)) == len(whole)
    names = [
        name for room, chosen in ROOMS if room == "dpjax" for name in chosen.split()
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#|<)([^)#\s]+)", text)
    included = re.findall(
        r"^```\{(?:literal)?include\} (\S+)", page.read_text("utf-8"), re.M
    )
    missing = [x for x in [*links, *included] if not (page.parent / x).exists()]
    assert missing == []


def test_the_readme_is_short_and_has_every_guide():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 150
    missing = [page.name for page in GUIDES if f"(docs/{page.name})" not in text]
    assert missing == []


def test_every_page_is_in_a_table_of_contents():
    trees = "\n".join(page.read_text("utf-8") for page in PAGES)
    for page in PAGES:
        entry = rf"^(\{{if-there\}} )?{page.stem}$"
        assert page.stem == "index" or re.search(entry, trees, re.MULTILINE), page


def test_pictures_of_the_gallery_are_drawn_by_its_cells():
    text = (DOCS / "gallery.md").read_text("utf-8")
    assert "![" not in text
    assert "```{image}" not in text
    _, *sections = re.split("^## ", text, flags=re.MULTILINE)
    for section in sections[:-1]:
        assert re.search(r"^Image\(", section, re.MULTILINE)
        assert "    alt: " in section
        assert re.search(r"\]\([\w-]+\.md\)\n*$|\]\([\w-]+\.md\), and", section)
