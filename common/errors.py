"""The error for input that the user can correct."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


class BadInput(ValueError):
    """Input that cannot be used: a file, a setting, a dataset.

    The message is one line for a person: which file or setting, what was found, what was expected, what to do next.
    A command prints it and exits with code 2.
    """


class EnvironmentFailed(BadInput):
    """An environment of another package that failed, or gave what it may not give, while it was played."""


@contextmanager
def naming(name: object) -> Iterator[None]:
    """Context manager: prefix errors with a name, such as a policy's file, unless they begin a part with it.

    The errors of an environment stay as they are, for they name it.
    """
    try:
        yield
    except EnvironmentFailed:
        raise
    except BadInput as error:
        if re.search(rf"(^|\s){re.escape(str(name))}[:/\\]", str(error)) is None:
            error.args = (f"{name}: {error}",)
        raise
