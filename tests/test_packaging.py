"""All of the repository is in the package; a forgotten subpackage is missing from the wheel alone."""

import importlib.resources
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUP = PROJECT["tool"]["setuptools"]
NOT_PACKAGED = {"tests", "benchmarks", "build"}


def package_of(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return "qwop" if parts == ("package",) else ".".join(("qwop", *parts))


FOLDERS = sorted(
    path.parent
    for path in ROOT.rglob("__init__.py")
    if not (set(path.relative_to(ROOT).parts) & NOT_PACKAGED) and not path.relative_to(ROOT).parts[0].startswith(".")
)


def test_every_folder_of_modules_is_listed() -> None:
    assert sorted(SETUP["packages"]) == sorted(map(package_of, FOLDERS))


def test_every_top_level_package_is_mapped_to_its_folder() -> None:
    """A package without a place of its own lies in its parent's."""
    wanted = {package_of(folder): folder.name for folder in FOLDERS if folder.parent == ROOT}
    assert SETUP["package-dir"] == wanted


def test_type_checkers_see_every_top_level_package() -> None:
    modules = {path.name for path in (ROOT / "package").iterdir() if path.is_file()}
    wanted = {folder.name for folder in FOLDERS if folder.parent == ROOT} - {"package"} | modules
    assert {path.name for path in (ROOT / ".typing" / "qwop").iterdir()} == wanted


def test_the_changelog_and_the_citation_are_of_this_version() -> None:
    version = PROJECT["project"]["version"]
    newest = next(line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert newest.split()[1] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_files_beside_the_code_are_installed() -> None:
    for folder in ("conf", "datasets/champion_games", "datasets/amateur_games", "policies"):
        package, _, inside = folder.partition("/")
        installed = Path(str(importlib.resources.files(f"qwop.{package}"))) / inside
        names = {path.relative_to(installed) for path in installed.rglob("*")}
        files = {
            path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*") if path.suffix not in (".py", ".pyc")
        }
        assert files <= names
    assert {"champion.safetensors", "champion_keys.txt"} <= {*SETUP["package-data"]["qwop.policies"]}
