"""Commands of a configuration that is all YAML: `qwop-finetune`, until its settings are declared."""

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import hydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from .command import EXIT_BAD_INPUT, EXIT_INTERRUPTED
from .errors import BadInput

Settings = TypeVar("Settings")


def command(config_name: str, run: Callable[[DictConfig], None]) -> Callable[[], None]:
    """A console script: Hydra reads `conf/<config_name>.yaml` and the overrides, `run` does the work.

    `BadInput` and mistakes in the overrides end as one line on stderr and exit code 2; Ctrl-C as exit code 130.
    """
    started = False

    def guarded(config: DictConfig) -> None:
        nonlocal started
        started = True
        try:
            run(config)
        except BadInput as error:
            print(f"{_program()}: {error}", file=sys.stderr)
            sys.exit(EXIT_BAD_INPUT)
        except KeyboardInterrupt:
            print(f"\n{_program()}: interrupted", file=sys.stderr)
            sys.exit(EXIT_INTERRUPTED)

    application = hydra.main(version_base="1.3", config_path="pkg://qwop.conf", config_name=config_name)(guarded)

    def main() -> None:
        nonlocal started
        started = False
        try:
            application()
        except SystemExit as exit_:
            # Hydra exits with 1 for an override that it cannot read or compose.
            if exit_.code == 1 and not started:
                sys.exit(EXIT_BAD_INPUT)
            raise

    return main


def settings(cls: type[Settings], node: DictConfig, name: str) -> Settings:
    """The frozen dataclass `cls` filled from the configuration `name`; unknown keys and wrong types are refused."""
    assert is_dataclass(cls)
    known = [field.name for field in fields(cls)]
    unknown = sorted(set(map(str, node)) - set(known))
    if unknown:
        raise BadInput(f"{name}.{unknown[0]}: no such setting; the settings of {name} are {', '.join(known)}")
    try:
        filled: Any = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(cls), node))
    except (OmegaConfBaseException, ValueError, TypeError) as error:
        place = ".".join(filter(None, [name, getattr(error, "full_key", None)]))
        raise BadInput(f"{place}: {str(error).splitlines()[0]}") from None
    return filled  # type: ignore[no-any-return]


def open_run_folder(config: DictConfig, out: Path) -> Path:
    """Make the run's folder and write the resolved configuration into it, as `config.yaml`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.yaml").write_text(OmegaConf.to_yaml(config, resolve=True))
    return out


def _program() -> str:
    return Path(sys.argv[0]).name
