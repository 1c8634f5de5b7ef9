"""The files of rows are accepted by the commands that they name."""

from pathlib import Path

import pytest
from qwop.common.reading import parse_yaml
from qwop.compare.runner import jobs_of

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_file_of_rows_is_accepted(path: Path) -> None:
    document = parse_yaml(path.read_text())
    assert document.keys() <= {"title", "seeds", "against", "rows"}
    assert document.get("against", next(iter(document["rows"]))) in document["rows"]
    jobs = jobs_of(document["rows"], 1, Path("out"))
    every = [word for job in jobs for words in job.commands for word in words]
    assert not [word for word in every if "{" in word and ":" not in word], "a name that no row above has"
