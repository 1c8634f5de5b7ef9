"""The journal of a study: what is read from it is checked first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.study.journal import JOURNAL

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"param_name":"x"', '"param_name":"y"'),
        ('"user_attr":{"starts":1}', '"user_attr":{"starts":"x"}'),
        ('"user_attr":{"values":[', '"user_attr":{"values":["x",'),
        ('"user_attr":{"values":[', '"user_attr":{"values":[true,'),
        ('"user_attr":{"fresh/0/0":', '"user_attr":{"fresh/0/0":{},"was":'),
        ('"op_code":4', '"op_code":400'),
        ('"op_code":4', '"op_code":"x"'),
    ],
)
def test_values_of_other_kinds_are_refused_in_a_line(found: str, instead: str, bench: Make) -> None:
    made = bench(trials=2, repeats=1, finalists=2, fresh_seeds=2)
    made.finish()
    path = made.folder / JOURNAL
    text = path.read_text()
    assert found in text
    bench(trials=2, repeats=1, finalists=2, fresh_seeds=2)  # as it is, it is read again
    path.write_text(text.replace(found, instead, 1))
    with pytest.raises(BadInput, match=JOURNAL) as refused:
        bench(trials=2, repeats=1, finalists=2, fresh_seeds=2)
    assert "\n" not in str(refused.value)
    assert "start anew with another out" in str(refused.value)


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_refused(make: Callable[[Path], None], bench: Make) -> None:
    path = bench().folder / JOURNAL
    path.unlink()
    make(path)
    with pytest.raises(BadInput, match=JOURNAL):
        bench()
