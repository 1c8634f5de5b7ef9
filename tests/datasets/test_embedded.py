import pytest
from qwop.common.errors import BadInput
from qwop.datasets import embedded, embedded_dataset, open_dataset
from qwop.envs.spec import ObservationSpec


def test_the_embedded_demonstrations_are_exact_and_replayable() -> None:
    try:
        folder = embedded_dataset()
    except BadInput:
        pytest.skip("this checkout has no embedded demonstrations")
    dataset = open_dataset(folder)
    assert dataset.info.observation == ObservationSpec((112,), "float32")
    summary = dataset.summary()
    assert summary.info.environment.id == "QWOP-v1"
    assert set(summary.mu) == {"recorded"}
    assert summary.replayable == summary.episodes > 0


def test_missing_demonstrations_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(embedded, "__file__", str(tmp_path_factory.mktemp("package") / "embedded.py"))
    with pytest.raises(BadInput, match="the embedded demonstrations are missing"):
        embedded_dataset()
