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
    jobs_of_rows = jobs_of(document["rows"], 1, Path("out"))
    words_of_jobs = [word for jobs in jobs_of_rows.values() for job in jobs for words in job.commands for word in words]
    assert not [word for word in words_of_jobs if "{" in word and ":" not in word], "a name that no row above has"
