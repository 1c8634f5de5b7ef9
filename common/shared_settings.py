"""Settings that several commands share, declared once."""

from typing import Any

from .settings import setting

LARGEST_SEED = 2**32 - 1

DEVICES = ("auto", "cpu", "cuda", "mps")

LONGEST_IDLE = 3000
"""Most idle frames at a game's start: 100 s of the 120 s after which a game ends."""


def seed(help: str) -> Any:
    """The seed of a command's random numbers."""
    return setting(0, help, at_least=0, at_most=LARGEST_SEED)


def device() -> Any:
    """The device that networks are trained on; see `policies.devices`."""
    return setting(
        "auto",
        "Device to learn on: cpu, cuda, mps (Apple's GPUs), or auto, a CUDA GPU if there is one.",
        choices=DEVICES,
    )


def max_idle_frames(default: int, games: str = "QWOP") -> Any:
    """The random start of QWOP's games. games: those that have it."""
    return setting(
        default,
        f"{games}: each game starts with 0 to this many frames (30 a second) without a key, uniformly drawn.",
        at_least=0,
        at_most=LONGEST_IDLE,
    )


def smoothing(when: str = "") -> Any:
    """The fraction ε by which unknown behaviour probabilities are smoothed; when: the case in which it is used."""
    return setting(
        0.05,
        f"Smoothing of the behaviour probabilities{when}: this fraction is spread evenly over all actions.",
        above=0,
        at_most=1,
    )


def environment_settings(help: str, named: str) -> Any:
    """Settings of an environment. named: what names the environment, for whoever gives its id here."""
    return setting({}, help, expected=f"settings such as {{frames_per_step: 2}}; {named} names the environment")


def num_envs(default: int, help: str) -> Any:
    """The number of games that are played side by side."""
    return setting(default, help, at_least=1, at_most=65_536)
