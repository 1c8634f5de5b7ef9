# The four things one does. `make test` is the README's selection; `pytest -m slow` runs what it leaves out.
bin = .venv/bin/

.PHONY: install check test docs

install:
	python3 -m venv .venv
	.venv/bin/pip install -e '.[all,test,docs]'
	.venv/bin/pre-commit install

check:
	$(bin)ruff check .
	$(bin)ruff format --check .
	$(bin)mypy
	PYTHONPATH=.typing $(bin)lint-imports --no-logo --no-cache

test:
	$(bin)pytest

docs:
	$(bin)mkdocs build --strict --quiet
