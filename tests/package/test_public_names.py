"""`import qwop`: light, complete and typed."""

from pathlib import Path

import numpy as np
import pytest
import qwop

from ..fakes import python

ROOT = Path(__file__).parents[2]


def test_an_import_brings_nothing_heavy(tmp_path: Path) -> None:
    heavy = ("torch", "numba", "hydra", "omegaconf", "tensorboard", "pandas", "pyarrow", "PIL", "rich")
    code = f"import sys, qwop, qwop.envs.spec; print([name for name in {heavy} if name in sys.modules])"
    process = python(code, tmp_path)
    assert process.stdout.strip() == "[]", process.stderr


def test_every_public_name_is_there() -> None:
    assert set(qwop.__all__) <= set(dir(qwop))
    for name in qwop.__all__:
        assert getattr(qwop, name) is not None
    assert qwop.replay([1, 0]).states.shape == (3, 14, 6)
    with pytest.raises(AttributeError, match="'qwop' has no attribute 'nothing'"):
        _ = qwop.nothing  # type: ignore[attr-defined]


def test_in_the_checkout_datasets_is_the_installed_package(tmp_path: Path) -> None:
    installed = tmp_path / "datasets"
    installed.mkdir()
    (installed / "__init__.py").write_text("from .arrow import WHOSE\n")
    (installed / "arrow.py").write_text("WHOSE = 'theirs'\n")
    code = "import datasets, sys, qwop.datasets; print(datasets.WHOSE, qwop.datasets.open_dataset.__name__)"
    assert python(code, ROOT, PYTHONPATH=str(tmp_path)).stdout.split() == ["theirs", "open_dataset"]


def test_in_the_checkout_datasets_is_missing_where_it_is_not_installed() -> None:
    # As if nothing were installed: Hugging Face's may be.
    code = (
        "import sys\nsys.path = [one for one in sys.path if 'site-packages' not in one]\n"
        "try:\n import datasets\nexcept ModuleNotFoundError as e:\n print(e.name, e)"
    )
    assert python(code, ROOT, PYTHONPATH="").stdout.strip() == "datasets No module named 'datasets'"


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_refused_and_writes_nothing(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    champion = qwop.load_policy("champion")
    info = qwop.DatasetInfo(qwop.EnvironmentSpec("CartPole-v1"), *qwop.EnvironmentSpec("CartPole-v1").interface())
    for attempt in (
        lambda: qwop.write_episode(path, np.zeros((2, 4)), [0, 1], environment="CartPole-v1"),
        lambda: qwop.DatasetWriter(path, info),
        lambda: qwop.open_dataset(path),
        lambda: qwop.save_policy(path, champion),
        lambda: qwop.load_policy(path),
        lambda: qwop.write_keys(path, [0, 1], "mine"),
        lambda: qwop.read_keys(path),
    ):
        with pytest.raises(qwop.BadInput, match=r"the name of the .* is empty; give one, or \. for the working folder"):
            attempt()
    assert not list(tmp_path.iterdir())
