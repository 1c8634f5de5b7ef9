"""Links of README, CONTRIBUTING, CHANGELOG and docs/ lead somewhere, and README stays short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:|mailto:)(?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub and MkDocs give to a page's headings."""
    without_code = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(without_code)]
    return {re.sub(r"\s+", "-", heading.strip()) for heading in plain}


def broken_links(page: Path, text: str) -> list[str]:
    """The links of a page to files or headings that do not exist."""
    errors = []
    for match in LINK.finditer(text):
        path, _, anchor = match["target"].partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            errors.append(match["target"])
    return errors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_pictures_are_used() -> None:
    text = "".join(page.read_text() for page in PAGES)
    pictures = [path for path in (ROOT / "docs").iterdir() if path.suffix in {".png", ".svg", ".gif", ".mp4"}]
    assert [path.name for path in pictures if path.name not in text] == []
