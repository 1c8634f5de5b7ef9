"""Ray's errors as the run meets them; no cluster is started."""

import traceback
from collections.abc import Callable
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.finetune.distributed.actors import ActorDied, RayEngine

ray = pytest.importorskip("ray", reason="needs ray (the extra 'ray')")
pytestmark = pytest.mark.needs(module="ray")
Engine = Callable[[Exception], RayEngine]


def task_error(cause: Exception) -> Any:
    """Ray's error for a method that raised `cause` in an actor."""
    try:
        raise cause
    except type(cause):
        return ray.exceptions.RayTaskError("collect", traceback.format_exc(), cause)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine whose calls end with this error."""

    def failing(error: Exception) -> RayEngine:
        def get(handle: Any) -> Any:
            raise error

        monkeypatch.setattr(ray, "is_initialized", lambda: True)
        monkeypatch.setattr(ray, "get", get)
        return RayEngine(1, None)

    return failing


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ActorDiedError", ()),
        ("ActorUnavailableError", ("its machine does not answer", None)),
        ("OutOfMemoryError", ("1 worker was killed due to the node running low on memory.\nMore",)),
        ("ObjectReconstructionFailedError", ("ab" * 28, None, "")),
    ],
)
def test_an_actor_is_dead_whether_it_its_machine_or_its_result_is_gone(
    name: str, arguments: tuple[Any, ...], engine: Engine
) -> None:
    with pytest.raises(ActorDied) as caught:
        engine(getattr(ray.exceptions, name)(*arguments)).result("handle")
    assert len(str(caught.value).splitlines()) == 1


def test_an_actor_that_cannot_be_made_says_why(engine: Engine) -> None:
    error = ray.exceptions.ActorDiedError(task_error(BadInput("ALE/Pong-v5: install its package")))
    with pytest.raises(ActorDied, match=r"^\S*BadInput: ALE/Pong-v5: install its package$"):
        engine(error).result("handle")


def test_bad_input_in_an_actor_is_one_line_as_it_is_here(engine: Engine) -> None:
    error = task_error(BadInput("a saved game: reals is no array")).as_instanceof_cause()
    assert "test_ray_errors.py" in str(error)  # Ray's text is a traceback
    with pytest.raises(BadInput) as caught:
        engine(error).result("handle")
    assert str(caught.value) == "a saved game: reals is no array"


def test_other_errors_in_an_actor_keep_their_traceback(engine: Engine) -> None:
    error = task_error(ZeroDivisionError("division by zero")).as_instanceof_cause()
    with pytest.raises(ZeroDivisionError, match="test_ray_errors"):
        engine(error).result("handle")
