"""The one error that a person can mend."""


class BadInput(ValueError):
    """Input that cannot be used: a file, a setting, a dataset.

    The message is one line for a person: which file or setting, what was found, what was expected, what to do next.
    A command prints it and exits with code 2.
    """
