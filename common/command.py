"""Commands: a function of checked settings as a Hydra application with help, one-line errors and exit codes."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import hydra
from hydra import compose, initialize_config_module
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from .checks import printable, quoted
from .ends import one_line_end
from .errors import BadInput
from .files import require_writable_folder, write_atomic
from .former_names import current_overrides
from .free_names import with_decoded_names
from .imports import import_asked
from .lazy import import_quickly
from .option_files import naming_files, with_option_files
from .overrides import explain, normalise, set_in_entries, sweep_jobs
from .reading import reason
from .same_settings import read_settings
from .settings import Settings, declarations, defaults, dotted, names_in, read, to_plain
from .typed_texts import as_typed

S = TypeVar("S", bound=Settings)

CONFIGURATION = "config.yaml"
"""Name of the file of a run's settings in its folder."""

DATASET = "dataset.json"
"""Name of the file that describes a dataset in its folder."""

REPORT = "report.html"
"""Name of the page that reports a run, in its folder."""

CONFIGURATIONS = "qwop.conf"
"""The package of the YAML files: schedules, and presets of groups."""


def run_of(module: str, name: str = "run") -> Callable[[Settings], None]:
    """A function of a module, which is imported once it is called: --help does without PyTorch and the like."""

    def run(settings: Settings) -> None:
        getattr(import_quickly(module), name)(settings)

    return run


class Command(Generic[S]):
    """A console script: Hydra composes the settings from their declarations and the overrides, `run` does the work.

    name: of the configuration, the program being `qwop-<name>`. about: what the program does, in a sentence or two.
    examples: command lines and what each does ('' where the line says it). check: raises `BadInput` for files and
    environments that the settings name and `run` would refuse; writes nothing. `BadInput` and mistakes in the overrides
    end as one line on stderr and exit code 2, before anything is written; Ctrl-C as 130, SIGTERM as 143, SIGHUP as 129.
    """

    def __init__(
        self,
        name: str,
        settings: type[S],
        run: Callable[[S], None],
        about: str,
        examples: Sequence[tuple[str, str]],
        check: Callable[[S], None] = lambda settings: None,
    ) -> None:
        self.name, self.settings, self.run, self.check = name, settings, run, check
        self.about, self.examples = about, tuple(examples)
        self._register()

    @property
    def program(self) -> str:
        return f"qwop-{self.name}"

    def __call__(self) -> None:
        """Run the command line; SystemExit if the exit code is not 0."""
        if os.environ.get("COLUMNS") == "0":  # a terminal that does not know its width; Rich would print nothing
            del os.environ["COLUMNS"]
        with one_line_end(self.program):
            _require_working_folder()
            given, notes = current_overrides(sys.argv[1:])
            for note in notes:
                print(f"{self.program}: note: {printable(note)}", file=sys.stderr)
            arguments = self._asked(given)
            options = _parser().parse_args(arguments)
            if options.help:
                from .help import print_help  # only this needs it

                print_help(self, options.overrides)
            else:
                self._refuse_early(options, given)
                self._apply_hydra(arguments, options.overrides)

    def start(self, settings: S) -> None:
        """Run with these settings, with the command line's signal handling, one-line errors and exit codes."""
        with one_line_end(self.program):
            self._work(settings)

    def read(self, overrides: Sequence[str]) -> S:
        """The checked settings of a command line, without running anything; BadInput for a wrong one."""
        return self._read(self._asked(current_overrides(overrides)[0]))

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The configuration that Hydra composes of a command line, unchecked."""
        return self._explained(self._asked(current_overrides(overrides)[0]))

    def _read(self, asked: list[str]) -> S:
        """The checked settings of overrides that are in Hydra's forms."""
        with naming_files(asked, self.settings):
            return self._checked(self._explained(asked))

    def _explained(self, asked: list[str]) -> DictConfig:
        """The configuration of overrides that are in Hydra's forms; BadInput for what it does not accept."""
        try:
            return self._composed(asked)
        except Exception as error:
            raise explain(error, asked, self.settings, self._composed) from None

    def _asked(self, arguments: Sequence[str]) -> list[str]:
        """The command line in the forms that Hydra takes."""
        asked = as_typed(normalise(import_asked(arguments), self.settings), self.settings)
        asked = with_option_files(asked, self.settings)
        return set_in_entries(asked, self.settings, self._composed)

    def _composed(self, overrides: list[str]) -> DictConfig:
        """The configuration of overrides that are in Hydra's forms."""
        with _hydra():
            return compose(self.name, overrides=overrides)

    def _refuse_early(self, options: argparse.Namespace, given: list[str]) -> None:
        """BadInput for wrong settings of which Hydra would learn only after it has made a folder or run a sweep's first
        jobs, and for what Hydra would unpickle.

        Settings from configurations of the user's own (--config-dir) are left to Hydra.
        """
        if options.experimental_rerun is not None:
            raise BadInput("--experimental-rerun: pickled jobs are not run; give the job's settings")
        if options.config_name or options.config_dir or options.config_path:
            return
        if options.multirun:
            for job in sweep_jobs(options.overrides):
                self._read(job)
        elif any(one.lstrip("+~").startswith("hydra") for one in given):
            self.read(given)

    def _apply_hydra(self, arguments: list[str], overrides: list[str]) -> None:
        """Hydra's own way: jobs, --multirun, --cfg, --info and completion."""
        started = False

        def job(config: DictConfig) -> None:
            nonlocal started
            started = True
            with one_line_end(self.program):
                with naming_files(arguments, self.settings):
                    settings = self._checked(config)
                self._work(settings)

        application = hydra.main(version_base="1.3", config_path=f"pkg://{CONFIGURATIONS}", config_name=self.name)(job)
        try:
            with _composing_raises(arguments):
                application()
        except Exception as error:
            if started:
                raise
            raise explain(error, overrides, self.settings, self._composed) from None

    def _work(self, settings: S) -> None:
        for place, folder in _written(settings):
            require_writable_folder(Path(folder), place)
        self.run(settings)

    def _checked(self, config: DictConfig) -> S:
        try:
            node: Any = OmegaConf.to_container(config, resolve=True)
        except OmegaConfBaseException as error:
            place = getattr(error, "full_key", None) or "a setting"
            unknown = isinstance(error, InterpolationKeyError)
            hint = "; ${…} takes the value of another setting, write \\${…} for a text with ${" if unknown else ""
            raise BadInput(f"{place}: {str(error).splitlines()[0]}{hint}") from None
        named = with_decoded_names({key: value for key, value in node.items() if key != "hydra"})
        return read(self.settings, named)

    def _register(self) -> None:
        """Tell Hydra the defaults: a configuration of this name, and an option of each group for each dataclass."""
        store = ConfigStore.instance()
        groups = {name: spec for name, spec in declarations(self.settings).items() if spec.tag or spec.group}
        for name, spec in groups.items():
            for option, made in spec.options.items():
                node: dict[str, Any] = {name: {spec.tag: option, **defaults(made)}}
                for other, following in declarations(self.settings).items():
                    if following.follows == name:
                        node[other] = defaults(following.options[option])
                store.store(group=name, name=option, node=node, package="_global_")
        chosen = [{name: spec.example if spec.options else None} for name, spec in groups.items()]
        quiet = [{f"override hydra/{log}": "disabled"} for log in ("hydra_logging", "job_logging")]
        hydra_node = {"run": {"dir": "."}, "output_subdir": None, "help": {"app_name": self.program}}
        tree = {"defaults": [*chosen, "_self_", *quiet], **defaults(self.settings), "hydra": hydra_node}
        store.store(name=self.name, node=tree)


def write_configuration(settings: Settings, out: Path) -> Path:
    """Make a run's folder and write the resolved settings into it; BadInput if those of another command are there."""
    require_no_other_run(out, type(settings))
    write_atomic(out / CONFIGURATION, to_yaml(settings))
    return out


def require_no_other_run(out: Path, settings: type[Settings], writes: Sequence[str] = ()) -> None:
    """Raise BadInput for a folder with another content than a run of this command: a dataset; another configuration,
    which sets what `settings` lacks; or none, and a report or another of the files that the command `writes`."""
    if (out / DATASET).exists():
        raise BadInput(f"out={out}: holds a dataset; give out= another folder")
    if not (out / CONFIGURATION).exists():
        if there := [name for name in (*writes, REPORT) if os.path.lexists(out / name)]:
            raise BadInput(f"out={out}: holds {there[0]}, which would be overwritten; give out= another folder")
        return
    before = read_settings(out / CONFIGURATION)
    if foreign := [name for name, value in before.items() if value is not None and name not in names_in(settings)]:
        raise BadInput(
            f"out={out}: holds the run of another command, or of another version, whose {CONFIGURATION} sets "
            f"{quoted(foreign[0])}; give out= another folder"
        )


def to_yaml(settings: Settings) -> str:
    """The resolved settings as YAML."""
    return OmegaConf.to_yaml(OmegaConf.create(to_plain(settings)))


def _require_working_folder() -> None:
    """Raise BadInput if the folder that the command was started in has been removed."""
    try:
        Path.cwd()
    except OSError as error:
        raise BadInput(f"the working folder cannot be read ({reason(error)}); go to another one with cd") from None


def _written(settings: Settings, place: str = "") -> Iterator[tuple[str, str]]:
    """The folders that the command writes: the setting's place, and the folder."""
    for name, spec in declarations(type(settings)).items():
        value = getattr(settings, name)
        here = place if spec.inline else dotted(place, name)
        if isinstance(value, Settings):
            yield from _written(value, here)
        elif spec.written and value is not None:
            yield here, value


@contextmanager
def _hydra() -> Iterator[None]:
    """Context manager: Hydra composes from the package's configurations, also inside a command run by Hydra."""
    outer = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(CONFIGURATIONS, version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = outer


@contextmanager
def _composing_raises(arguments: list[str]) -> Iterator[None]:
    """Hydra reads these arguments, and raises its errors instead of printing them in many lines."""
    argv, full = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv, os.environ["HYDRA_FULL_ERROR"] = [argv[0], *arguments], "1"
    try:
        yield
    finally:
        sys.argv = argv
        if full is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full


def version_line() -> str:
    """The version that `--version` prints."""
    return f"qwop {version('qwop')}"


def _parser() -> argparse.ArgumentParser:
    """Hydra's own options, with this package's version and one-line errors."""
    parser = argparse.ArgumentParser(parents=[get_args_parser()], conflict_handler="resolve", add_help=False)
    parser.error = _refuse  # type: ignore[method-assign]
    parser.add_argument("--version", action="version", version=version_line(), help="Show the version")
    return parser


def _refuse(message: str) -> NoReturn:
    raise BadInput(f"{message}; --help shows the settings")
