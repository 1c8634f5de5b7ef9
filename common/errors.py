"""The error for input that the user can correct, and values in the words of a message."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

LONGEST_VALUE, LONGEST_REASON = 60, 200
"""Characters that a message quotes: of a wrong value, and of another library's or an environment's error."""


class BadInput(ValueError):
    """Input that cannot be used: a file, a setting, a dataset.

    The message is one line for a person: which file or setting, what was found, what was expected, what to do next.
    A command prints it and exits with code 2.
    """


class EnvironmentFailed(BadInput):
    """An environment of another package that failed, or gave what it may not give, while it was played."""


@contextmanager
def naming(name: object) -> Iterator[None]:
    """Context manager: prefix errors with a name, such as a policy's file, unless it is empty or they begin a part with
    it.

    The errors of an environment stay as they are, for they name it.
    """
    try:
        yield
    except BadInput as error:
        has_name = re.search(rf"(^|\s){re.escape(str(name))}[:/\\]", str(error))
        if name and not has_name and not isinstance(error, EnvironmentFailed):
            error.args = (f"{name}: {error}",)
        raise


def one_of(choices: Sequence[object]) -> str:
    """Choices in words: 'a, b or c'."""
    words = [quoted(one) for one in choices]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def quoted(value: object, longest: int = LONGEST_VALUE) -> str:
    """A value as written on the command line, in one line of limited length."""
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, float):
        text = repr(float(value))  # NumPy's numbers, too
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{printable(str(key))}: {quoted(one)}" for key, one in value.items()) + "}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        text = "[" + ", ".join(map(quoted, value)) + "]"
    else:
        text = printable(" ".join(str(value).split()))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def printable(text: str) -> str:
    """The text with escapes for characters that a terminal would obey or could not print."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
