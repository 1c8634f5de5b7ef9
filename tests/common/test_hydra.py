"""Commands read their settings inside a program of Hydra's own, and more than once in a process."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import hydra
from hydra.core.global_hydra import GlobalHydra
from qwop.commands import pretrain

@hydra.main(version_base=None, config_path="conf", config_name="mine")
def main(config):
    before = GlobalHydra.instance()
    inner = [pretrain.read(["dataset=data/me", f"seed={config.seed}"]).seed for _ in range(2)]
    assert GlobalHydra.instance() is before and before.is_initialized()
    composed = hydra.compose("mine", ["seed=5"])  # a search path that was replaced would not find it
    print("seeds", inner, composed.seed)

main()
"""


def test_settings_are_read_inside_a_hydra_program_and_twice(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mine.yaml").write_text("seed: 3\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", "seed=4", "hydra.run.dir=.", "hydra.output_subdir=null"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    assert "seeds [4, 4] 5" in process.stdout
