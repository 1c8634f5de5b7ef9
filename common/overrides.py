"""Command-line overrides: shorter forms than Hydra's, and its errors in one line with advice."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_origin

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from .checks import Declaration, one_of, quoted, without_none
from .errors import BadInput
from .free_names import decoded
from .settings import Settings, declarations, dotted, is_settings, nearest, no_such_setting, options_of, type_of

_MERGING = "Error merging override "
"""Hydra's message where a value takes the place of settings with names."""

_MISSING_OPTION = re.compile(
    r"Could not find '(?P<group>(?:hydra/)?[^'/]+)/(?P<option>[^']*)'.*?Available options[^\n]*\n"
    r"(?P<options>(\t[^\n]*\n?)*)",
    re.DOTALL,
)

UNREADABLE = (HydraException, ValueError, RecursionError)
"""Errors of Hydra's grammar; the latter two of numbers with thousands of digits and brackets within brackets."""

FROM_FILE = "file-"
"""Beginning of the names of options that are files of the user's own (`option_files`)."""

OWN_FILE = ", or a file of your own (its path, with .yaml)"

LONGEST_REASON = 300
"""Characters of Hydra's own words that are shown."""

COMPOSE = Callable[[list[str]], DictConfig]


def normalise(overrides: Sequence[str], settings: type[Settings]) -> list[str]:
    """The same command line in the forms that Hydra takes.

    `+schedule=kurodo` may be written for `schedule=kurodo`, although a group that is always there is changed rather
    than added; `algorithm=null` deletes the group; `environment.delay=0.3` and `environment={delay: 0.3}` need no `+`
    to add to a mapping whose keys are free, nor does `schedule.keep=best` to set what the schedule's file leaves out.
    A group that is changed but not chosen has its default option.
    """
    # Next to the other overrides, because Hydra's parser refuses overrides on both sides of one of its options (-m).
    place = next((place for place, one in enumerate(overrides) if "=" in one and not one.startswith("-")), 0)
    overrides = [*overrides[:place], *_unchosen(overrides, settings), *overrides[place:]]
    groups = _groups(settings)
    optional = [name for name, spec in declarations(settings).items() if spec.group]
    # Mappings whose keys are not declared, such as an environment's settings.
    every = _every_setting(settings)
    mappings = {place for place, kind, spec in every if _is_mapping(kind) and spec.entries is None}
    free = tuple(f"{place}." for place in mappings)
    chosen = [name for name in optional if any(one.lstrip("+").startswith(f"{name}=") for one in overrides)]
    in_files = {place for group in chosen for place, *_ in _every_setting(type_of(settings, group), group)}
    made: list[str] = []
    for override in overrides:
        key, equals, value = override.partition("=")
        bare = key.lstrip("+~")
        if bare in groups and (key.startswith("~") or value == "null"):
            made = [one for one in made if one.partition("=")[0] != bare] if bare in optional else [*made, f"~{bare}"]
        elif bare in groups and equals:
            made.append(f"{bare}={value}")
        elif equals and key == bare and bare in in_files:
            made.append(f"++{override}")
        elif equals and not key.startswith("~") and (bare.startswith(free) or (bare in mappings and value[:1] == "{")):
            made.append(f"++{bare}={value}")
        else:
            made.append(override)
    return made


def _unchosen(overrides: Sequence[str], settings: type[Settings]) -> Iterator[str]:
    """The default options of groups that are changed but not chosen: `schedule.scale=0.1` alone."""
    given = {one.partition("=")[0].lstrip("+~") for one in overrides if not one.endswith("=null")}
    named = {one.partition("=")[0].lstrip("+~") for one in overrides}
    for name, spec in declarations(settings).items():
        if spec.default and name not in named and any(one.startswith(f"{name}.") for one in named):
            beside = [option for other, option in spec.default_beside.items() if other in given]
            yield f"{name}={(beside or [spec.default])[0]}"


def set_in_entries(overrides: Sequence[str], settings: type[Settings], compose: COMPOSE) -> list[str]:
    """The same command line, where `schedule.phases.race.entropy=0.1` needs no `+` to set what that phase leaves out.

    compose makes the configuration of the groups alone, which has the names of the phases.
    """
    optional = tuple(f"{name}." for name, spec in declarations(settings).items() if spec.group)
    if not any(one.startswith(optional) for one in overrides):
        return list(overrides)
    try:
        known = _known(overrides, settings, compose)
    except Exception:  # a wrong option, which `explain` will tell
        return list(overrides)
    settable = _settings_of_entries(settings, known)
    inside = tuple(f"{place}." for place in settable)

    def adds(place: str, value: str) -> bool:
        # Braces add to a mapping that is there.
        return (place in settable and (place not in known or value[:1] == "{")) or (
            place not in known and place.startswith(inside)
        )

    parts = [one.partition("=") for one in overrides]
    return [f"++{one}" if adds(place, value) else one for one, (place, _, value) in zip(overrides, parts, strict=True)]


def explain(error: Exception, overrides: Sequence[str], settings: type[Settings], compose: COMPOSE) -> Exception:
    """The exception to raise for an error of Hydra: BadInput in one line; any other error stays as it is.

    compose makes the configuration of other overrides; that of the groups alone has the known settings.
    """
    found = _explained(error, overrides, settings, compose)
    return BadInput(decoded(str(found))) if isinstance(found, BadInput) else found


def _explained(error: Exception, overrides: Sequence[str], settings: type[Settings], compose: COMPOSE) -> Exception:
    try:
        parsed = [parsed_override(one) for one in overrides]
    except BadInput as wrong:
        return wrong
    for one in parsed:
        if one.is_sweep_override():
            given = str(one.input_line).lstrip("+")
            return BadInput(f"{quoted(given)}: several values need --multirun; a list is written [1,2]")
        if not one.key_or_group:
            return BadInput(f"{quoted(one.input_line)}: expected setting=value")
    if found := _MISSING_OPTION.search(str(error)):
        options = [one for one in found["options"].split() if not one.startswith(FROM_FILE)]
        own = OWN_FILE if _takes_files(settings, found["group"]) else ""
        near = nearest(found["option"], options, 0.6)  # lower, because one letter is a large part of a short name
        question = f"did you mean {near}? The options are" if near else "choose one of"
        return BadInput(f"{found['group']}={found['option']}: no such option; {question} {', '.join(options)}{own}")
    for one in parsed:
        group = declarations(settings).get(one.key_or_group)
        if (
            group is not None
            and (group.tag or group.group)
            and (one.value() == "" or isinstance(one.value(), list | dict))
        ):
            own = OWN_FILE if group.group else ""
            return BadInput(
                f"{quoted(str(one.input_line).lstrip('+'))}: expected the name of an option, "
                f"{one_of(options_of(one.key_or_group, group))}{own}"
            )
    if wrong_key := _wrong_key(parsed, settings, compose):
        return wrong_key
    if str(error).startswith(_MERGING):
        given = str(error).removeprefix(_MERGING).split("\n")[0].lstrip("+")
        return BadInput(f"{quoted(given)}: expected settings by name, such as {given.partition('=')[0]}.name=value")
    if isinstance(error, UNREADABLE):
        return BadInput(quoted(str(error).split("\n")[0], LONGEST_REASON))
    return error


def value_of(text: str) -> Any:
    """A value as Hydra's grammar reads it; raises one of `UNREADABLE` if it does not."""
    return OverridesParser.create().parse_override(f"x={text}").value()


def parsed_override(override: str) -> Override:
    """An override as Hydra's grammar reads it; BadInput if it does not."""
    if "=" not in override and not override.startswith("~"):
        raise BadInput(f"{quoted(override) or 'an empty argument'}: expected setting=value; --help shows the settings")
    try:
        return OverridesParser.create().parse_override(override)
    except UNREADABLE as wrong:
        raise BadInput(
            f"{quoted(override.lstrip('+'))}: cannot be read ({_reason(wrong)}); expected "
            "setting=value, in quotes if need be"
        ) from None


def sweep_jobs(overrides: Sequence[str]) -> list[list[str]]:
    """The command line of each job of a sweep; none where another sweeper than Hydra's own is to find them."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper  # only sweeps need it

    parsed = [parsed_override(one) for one in overrides]
    if any(one.key_or_group == "hydra/sweeper" for one in parsed):
        return []
    return [job for batch in BasicSweeper.split_arguments(parsed, max_batch_size=None) for job in batch]


def _takes_files(settings: type[Settings], group: str) -> bool:
    """True if the options of the group are files."""
    return any(spec.group == group for spec in declarations(settings).values())


def _wrong_key(parsed: Sequence[Override], settings: type[Settings], compose: COMPOSE) -> BadInput | None:
    """The error for the first override whose setting is not there, or is there already."""
    groups = _groups(settings)
    try:
        known = _known([str(one.input_line) for one in parsed], settings, compose)
    except Exception:  # for example a group in the user's own folder: Hydra's message is shown instead
        return None
    absent = [name for name in groups if name not in known]
    for one in parsed:
        place = one.key_or_group
        if place in groups or place.startswith("hydra"):
            continue
        if one.is_add() and not one.is_force_add():
            if place in known:
                return BadInput(f"{quoted(one.input_line)}: {place} is there already; leave the + out")
        elif not one.is_force_add() and place not in known:
            if place.split(".")[0] in absent:
                return BadInput(f"{quoted(one.input_line)}: no {place.split('.')[0]} is chosen that it could change")
            if error := _of_other_options(place, settings):
                return error
            if error := _of_entries(place, settings):
                return error
            entries = sorted(_settings_of_entries(settings, known).difference(known))
            return no_such_setting(place, [*known, *absent, *entries])
    return None


def _of_other_options(place: str, settings: type[Settings]) -> BadInput | None:
    """The error for a setting that its group has with other options than the one chosen."""
    group, _, rest = place.partition(".")
    spec = declarations(settings).get(group)
    names = [name for name, made in spec.options.items() if rest in declarations(made)] if spec else []
    if spec is None or not names:
        return None
    return BadInput(f"{quoted(place)}: a setting of {spec.follows or group}={one_of(names)}, which is not chosen")


def _of_entries(place: str, settings: type[Settings]) -> BadInput | None:
    """The error for a part of a setting that has parts in the entries of a mapping alone: `environment.goal`."""
    single, _, part = place.partition(".")
    for group in (name for name, spec in declarations(settings).items() if spec.group):
        for mapping, spec in declarations(type_of(settings, group)).items():
            entry = spec.entries
            if part and entry and single in declarations(entry) and _is_mapping(type_of(entry, single)):
                here = f"{group}.{mapping}.NAME.{single}"
                return BadInput(f"{quoted(place)}: no such setting; did you mean '{here}={{{quoted(part)}: …}}'?")
    return None


def _settings_of_entries(settings: type[Settings], known: Sequence[str]) -> set[str]:
    """The places that the entries of mappings have or may have, such as `schedule.phases.race.entropy`."""
    found = set()
    for group in (name for name, spec in declarations(settings).items() if spec.group):
        for name, spec in declarations(type_of(settings, group)).items():
            if spec.entries is not None:
                mapping = f"{group}.{name}"
                entries = [place for place in known if place.rpartition(".")[0] == mapping]
                found |= {f"{entry}.{key}" for entry in entries for key in declarations(spec.entries)}
    return found


def _groups(settings: type[Settings]) -> list[str]:
    return [name for name, spec in declarations(settings).items() if spec.tag or spec.group]


def _known(overrides: Sequence[str], settings: type[Settings], compose: COMPOSE) -> list[str]:
    """The places of all settings of the groups' options that the command line chooses."""
    groups = _groups(settings)
    chosen = [one for one in overrides if one.partition("=")[0].lstrip("+~") in groups]
    tree: Any = OmegaConf.to_container(compose(chosen))
    return list(_places(tree))


def _places(tree: Mapping[str, Any], place: str = "") -> Iterator[str]:
    for key, value in tree.items():
        here = dotted(place, str(key))
        yield here
        if isinstance(value, Mapping):
            yield from _places(value, here)


def _every_setting(cls: type[Settings], place: str = "") -> Iterator[tuple[str, Any, Declaration]]:
    """The place, type and declaration of each setting, and of those within it, in all options of groups."""
    for name, spec in declarations(cls).items():
        here, kind = place if spec.inline else dotted(place, name), without_none(type_of(cls, name))
        yield here, kind, spec
        for made in spec.options.values() or ([kind] if is_settings(kind) else []):
            yield from _every_setting(made, here)


def _is_mapping(kind: Any) -> bool:
    return isinstance(origin := get_origin(kind), type) and issubclass(origin, Mapping)


def _reason(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if not line.startswith(("Error parsing", "See https"))]
    return quoted(lines[0], LONGEST_REASON) if lines else type(error).__name__
