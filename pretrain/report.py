"""`report.html` of a pretraining run: a self-contained page with measures, passes, calibration and games."""

from collections.abc import Mapping, Sequence
from html import escape

from rich.table import Table

from ..common.charts import STYLE as CHART_STYLE
from ..common.charts import Points, line_chart
from ..common.page import facts, figures, origin, page, tiles
from ..evaluation.evaluate import Evaluation
from ..evaluation.report import best_game, charts
from ..evaluation.tables import headline
from .clone import Epoch
from .held_out import CLONE, HeldOut
from .results import games_table, measures_table


def pretraining_page(
    dataset: str,
    splits: Sequence[HeldOut],
    passes: Sequence[Sequence[Epoch]],
    games: Sequence[Evaluation],
    made_by: str,
    settings: str,
) -> str:
    """The page of a run that cloned `dataset`.

    splits and passes: the measures and the passes of each clone. games: evaluations of the first one. made_by: the
    command line; settings: as YAML.
    """
    parts = [
        f"<h1>Clone of {escape(dataset)}</h1>",
        tiles(_headline(splits, games)),
        facts(
            [
                ("dataset", dataset),
                ("passes", "; ".join(map(_passes_in_words, passes))),
                ("held out", "; ".join(", ".join(map(str, split.episodes)) for split in splits)),
            ]
        ),
        "<h2>Episodes held out</h2>",
        _figures(measures_table(splits)),
        '<p class="note">nats: mean −ln p of the action taken, less is better. Calibration error: mean distance of '
        "confidence and accuracy.</p>",
        f'<div class="charts">{"".join(_passes(passes))}{_calibration(splits)}</div>',
    ]
    if games:
        parts += ["<h2>Games of the clone</h2>", _figures(games_table(games))]
        named = {_played(one): one.judged for one in games}
        parts.append(f'<div class="charts">{"".join(charts(named))}</div>')
        parts.append(best_game(max(games, key=_farthest), None))
    return page(f"Clone of {dataset}", "".join([*parts, origin(made_by, settings)]), CHART_STYLE)


def _headline(splits: Sequence[HeldOut], games: Sequence[Evaluation]) -> list[tuple[str, str]]:
    """The most important figures: (name, figure)."""
    measures = [split.measures[CLONE] for split in splits]
    found = [
        ("accuracy, episodes held out", f"{sum(one.accuracy for one in measures) / len(measures):.1%}"),
        ("nats, episodes held out", f"{sum(one.nats for one in measures) / len(measures):.3f}"),
    ]
    if not games:
        return found
    farthest = max(games, key=_farthest)
    return [*found, *((f"{name}, {_played(farthest)}", figure) for name, figure in headline(farthest))]


def _played(games: Evaluation) -> str:
    return "greedy" if games.settings.greedy else "drawn"


def _passes_in_words(epochs: Sequence[Epoch]) -> str:
    best = min(epochs, key=lambda epoch: epoch.validation_nats)
    return f"{epochs[-1].number}, the best was {best.number}"


def _figures(table: Table) -> str:
    """A table for the terminal as one of the page."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return figures([str(column.header) for column in table.columns], list(zip(*columns, strict=True)))


def _passes(passes: Sequence[Sequence[Epoch]]) -> list[str]:
    """Charts of the passes over the training decisions."""

    def lines(measure: str) -> Mapping[str, Points]:
        return {
            f"split {number}" if len(passes) > 1 else measure: [
                (epoch.number, getattr(epoch, measure)) for epoch in epochs
            ]
            for number, epochs in enumerate(passes, 1)
        }

    return [
        line_chart("training loss", lines("training_loss"), [], "pass"),
        line_chart("nats on the validation episodes", lines("validation_nats"), [], "pass"),
        line_chart("accuracy on the validation episodes", lines("validation_accuracy"), [], "pass"),
    ]


def _calibration(splits: Sequence[HeldOut]) -> str:
    """The reliability diagram of the clones: accuracy by confidence."""
    lines: dict[str, Points] = {"ideal": [(0.0, 0.0), (1.0, 1.0)]}
    for number, split in enumerate(splits, 1):
        name = f"split {number}" if len(splits) > 1 else CLONE
        lines[name] = [(one.confidence, one.accuracy) for one in split.measures[CLONE].reliability]
    return line_chart("accuracy, by confidence", lines, [], "probability of the most probable action")


def _farthest(evaluation: Evaluation) -> tuple[float, ...]:
    figures = evaluation.summary()
    return figures.get("finishes", 0), figures.get("best_metres", 0.0), figures["best_return"]
