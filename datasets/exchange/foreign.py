"""Files that another tool wrote, and the packages that read them."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput
from ...common.reading import CannotBeRead


@contextmanager
def foreign_content(
    path: Path, errors: type[Exception] | tuple[type[Exception], ...], found: str, expected: str
) -> Iterator[None]:
    """Context manager: turn errors about the content of the file `path` into BadInput that names it.

    errors: raised by the libraries that read it; the message about them is made of `found`, their reason and
    `expected`.
    """
    try:
        yield
    except CannotBeRead:
        raise
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except errors as error:
        reason = quoted(error, LONGEST_REASON) or type(error).__name__
        raise BadInput(f"{path}: {found} ({reason}); {expected}") from None


def import_extra(name: str, install: str) -> Any:
    """Import an optional package; BadInput, with the command that installs it (`install`), if that fails."""
    try:
        return import_module(name)
    except ImportError as error:
        raise BadInput(f"{name} cannot be imported ({error}); install it with: {install}") from None
