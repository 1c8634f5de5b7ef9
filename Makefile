# `make test` is the README's selection; `make slow` and `make abuse` run what it leaves out.
bin = .venv/bin/
# `make quick since=main` takes the changes since another commit.
since = HEAD

.PHONY: install check quick test slow abuse mutants docs

install:
	python3 -m venv .venv
	.venv/bin/pip install -e '.[all,test,docs]'
	.venv/bin/pre-commit install

check:
	$(bin)ruff check .
	$(bin)ruff format --check .
	$(bin)mypy
	PYTHONPATH=.typing $(bin)lint-imports --no-logo --no-cache

# The tests of the folders that have changed.
quick:
	@changed=$$({ git diff --name-only $(since); git ls-files --others --exclude-standard; } | sed 's|^tests/||' | cut -d/ -f1 | sort -u); \
	for folder in $$changed; do if [ -d tests/$$folder ]; then set -- "$$@" tests/$$folder; fi; done; \
	if [ $$# -gt 0 ]; then $(bin)pytest -q -n 2 --dist worksteal "$$@" || [ $$? -eq 5 ]; else echo "no folder with tests has changed since $(since)"; fi

test:
	$(bin)pytest

slow:
	$(bin)pytest -m slow

# Every case of the generators, and thousands of seeds of faults, files and command lines: hours.
abuse:
	$(bin)pytest -m exhaustive

# Changes of the learning code and the data rooms, by Cosmic Ray: does a test see them? An hour or more.
folders = finetune datasets pretrain evaluation
mutants:
	$(bin)pip install --quiet 'cosmic-ray>=8.4,<9'
	$(bin)python tests/abuse/mutants.py --count 200 $(folders)

docs:
	$(bin)mkdocs build --strict --quiet
