"""Ray's errors as the run meets them; no cluster is started."""

import traceback
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.finetune.distributed.actors import ActorDied, RayEngine

ray = pytest.importorskip("ray", reason="needs ray (the extra 'ray')")
pytestmark = pytest.mark.needs(module="ray")


def task_error(cause: Exception) -> Any:
    """Ray's error for a method that raised `cause` in an actor."""
    try:
        raise cause
    except type(cause):
        return ray.exceptions.RayTaskError("collect", traceback.format_exc(), cause)


BAD, BUG = BadInput("a saved game: reals is no array"), ZeroDivisionError("division by zero")
ERRORS = ray.exceptions


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ERRORS.ActorDiedError(), ActorDied, r"^[^\n]+$"),
        (ERRORS.ActorUnavailableError("its machine does not answer", None), ActorDied, r"^[^\n]+$"),
        (ERRORS.OutOfMemoryError("1 worker was killed due to the node running low.\nMore"), ActorDied, r"^[^\n]+$"),
        (ERRORS.ObjectReconstructionFailedError("ab" * 28, None, ""), ActorDied, r"^[^\n]+$"),
        (ERRORS.ActorDiedError(task_error(BAD)), ActorDied, f"^[^\n ]*BadInput: {BAD}$"),  # its constructor failed
        (task_error(BAD).as_instanceof_cause(), BadInput, f"^{BAD}$"),
        (task_error(BUG).as_instanceof_cause(), ZeroDivisionError, "test_ray_errors"),  # with its traceback
    ],
)
def test_a_dead_actor_and_bad_input_are_one_line_and_other_errors_keep_their_traceback(
    error: Exception, kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(handle: Any) -> Any:
        raise error

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "get", get)
    with pytest.raises(kind, match=message):
        RayEngine(1, None).result("handle")
