import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.datasets.exchange import d3rlpy, hdf5, minari
from qwop.datasets.exchange.foreign import foreign_content
from qwop.datasets.exchange.imported import Unknown
from qwop.datasets.schema import DatasetInfo


@pytest.mark.parametrize(
    ("missing", "used", "install"),
    [
        ("h5py", lambda info: hdf5.foreign_hdf5(Path("any"), "h5py", "").__enter__(), r"'qwop\[minari\]'"),
        ("minari", lambda info: minari.read(Path("any"), Unknown("me", 0.05)), r"'qwop\[minari\]'"),
        ("d3rlpy", lambda info: d3rlpy.to_d3rlpy([], info), r"'qwop\[d3rlpy\]', then pip install --no-deps d3rlpy=="),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, info: DatasetInfo, missing: str, used: Callable[[DatasetInfo], Any], install: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BadInput, match=f"{missing} cannot be imported .* pip install {install}"):
        used(info)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadInput("no column a"), "^file: no column a$"),
        (KeyError("a"), r"^file: cannot be read \('a'\); expected a file$"),
        (KeyError(), r"^file: cannot be read \(KeyError\); expected a file$"),
    ],
)
def test_errors_about_the_content_name_the_file(error: Exception, said: str) -> None:
    with (
        pytest.raises(BadInput, match=said),
        foreign_content(Path("file"), KeyError, "cannot be read", "expected a file"),
    ):
        raise error


def test_errors_of_the_program_are_not_the_files() -> None:
    with pytest.raises(ZeroDivisionError), foreign_content(Path("file"), KeyError, "cannot be read", ""):
        raise ZeroDivisionError
