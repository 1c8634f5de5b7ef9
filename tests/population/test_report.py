"""The report of a population."""

from pathlib import Path

from qwop.population.history import Agent, Rated, Row
from qwop.population.report import write_report
from qwop.population.settings import EvolutionSettings, PopulationSettings


def row(round: int, copies: list[tuple[int, int]] | None = None) -> Row:
    agents = [
        Agent(
            id=number, rating=1000.0 + 10 * number + round, error=5.0, generation=0, founder=number,
            genes={"learning_rate": 1e-3, "period": 5 + number}, rewards={"fall": -0.5, "won": 0.0, "hurdle_hit": 0.0},
            figures={"metres": 1.5, "finish_share": 0.0, "games": 3.0, "entropy": 2.0},
        )
        for number in range(3)
    ]  # fmt: skip
    rivals = [Rated(rating=1000.0, error=0.0)]
    return Row(round=round, decisions=1000, agents=agents, rivals=rivals, copies=copies or [], diverged=[])


def test_a_report_has_what_evolved(tmp_path: Path) -> None:
    rows = [row(number, [(0, 2)] if number == 7 else []) for number in range(1, 1001)]
    rows[0].agents[2].rewards["won"] = 0.25
    report = write_report(tmp_path, PopulationSettings(), rows).read_text()
    for part in ("The agents now", "1 copies", "founder", "finish share", "learning rate", "2020 ± 10", "(pinned)"):
        assert part in report
    assert report.index("<td>agent 2</td>") < report.index("<td>agent 0</td>")  # the best one first
    rewards = report[report.index("Rewards of their own") : report.index("Settings of their learning")]
    assert [name in rewards for name in ("fall", "won", "hurdle hit")] == [True, True, False]  # which is always 0
    assert len(report) < 200_000  # long runs are thinned out


def test_a_report_names_the_rule_of_copies(tmp_path: Path) -> None:
    for evolution, rule in (
        (EvolutionSettings(), "An agent that would lose more than 70% of its matches against another copies it"),
        (EvolutionSettings(enabled=False), "no agent is copied"),
    ):
        assert rule in write_report(tmp_path, PopulationSettings(evolution=evolution), [row(1)]).read_text()
    assert "A population of agents" in write_report(tmp_path, PopulationSettings(), []).read_text()  # before a round
