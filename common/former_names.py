"""Names that settings, options and phases had in earlier versions, and settings that are gone: still taken, with a
note."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

OPTIONS = {
    "schedule": {
        "alone": "live-only",
        "mix-only": "demonstrations-throughout",
        "speed": "ddqn-speed",
        "taught": "vtrace-kickstarted",
    },
}
"""Former names of a group's options, and today's."""

SETTINGS = {"teaching": "kickstarting"}
"""Former names of settings, and today's; not of an environment's own settings."""

GONE: Mapping[str, Any] = {
    "trust_region": "logits",
    "literal": False,
    "control_gamma": 0.9,
    "prediction_capacity": 800,
    "prediction_batch": 32,
}
"""Settings that are gone, and the value that they would have today: given so, they are left out."""

PHASES = {"wheels": "shaped"}
"""Former names of phases in the schedules of `WITH_NEW_PHASES`, and today's."""

WITH_NEW_PHASES = ("champion", "pictures")

ENVIRONMENT = "environment"

_IN_BRACES = re.compile(rf"\b({'|'.join(SETTINGS)})(?=\s*:)")


def current_overrides(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command line with today's names, and a note for each former one: 'schedule=alone is now …'."""
    schedule = next((one.partition("=")[2] for one in overrides if one.lstrip("+").startswith("schedule=")), "")
    made, notes = [], []
    for override in overrides:
        key, equals, value = override.partition("=")
        name = key.rpartition(".")[2]
        if name in GONE and value == str(GONE[name]).lower():
            notes.append(f"{override} is the only choice now, and no setting")
            continue
        now = _current_place(key, schedule) + equals + _current_value(key.lstrip("+~"), value)
        made.append(now)
        if now != override:
            notes.append(f"{override} is now {now}")
    return made, notes


def current_settings(node: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a file, nested mappings included, with today's names."""
    return {
        SETTINGS.get(name, name): current_settings(value)
        if isinstance(value, Mapping) and name != ENVIRONMENT
        else value
        for name, value in node.items()
        if name not in GONE or value != GONE[name]
    }


def current_phases(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The phases that a run was started with, under the names that the phases `now` have."""
    renamed = {old: new for old, new in PHASES.items() if new in now and old not in now}
    return {renamed.get(name, name): phase for name, phase in before.items()}


def _current_place(key: str, schedule: str) -> str:
    places = key.split(".")
    if ENVIRONMENT in places or key.startswith("-"):
        return key
    if places[:2] in (["schedule", "phases"], ["~schedule", "phases"]) and schedule in WITH_NEW_PHASES:
        places[2:3] = [PHASES.get(one, one) for one in places[2:3]]
    first = places[0].lstrip("+~")
    sign = places[0].removesuffix(first)
    return ".".join([sign + SETTINGS.get(first, first), *(SETTINGS.get(place, place) for place in places[1:])])


def _current_value(place: str, value: str) -> str:
    if place.startswith("schedule.phases") and value.startswith("{"):
        return _IN_BRACES.sub(lambda found: SETTINGS[found[1]], value)
    return OPTIONS.get(place, {}).get(value, value)
