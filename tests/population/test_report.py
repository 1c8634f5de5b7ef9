"""The report of a population."""

from pathlib import Path
from typing import Any

from qwop.population.report import agent_colour, family_tree, write_report
from qwop.population.settings import EvolutionSettings, PopulationSettings


def row(round: int, copies: list[list[int]], agents: int = 3) -> dict[str, Any]:
    return {
        "round": round,
        "decisions": 1000 * round,
        "seconds": 2.0 * round,
        "time": {"playing": 0.5, "learning": 1.0, "other": 0.5},
        "agents": [
            {
                "id": number, "rating": 1000.0 + 10 * number + round, "error": 5.0, "generation": 0, "founder": number,
                "genes": {"learning_rate": 1e-3, "period": 5 + number}, "rewards": {"fall": -0.5, "won": 0.75},
                "figures": {"metres": 1.5, "finish_share": 0.0, "games": 3.0, "entropy": 2.0},
            }
            for number in range(agents)
        ],
        "rivals": [{"rating": 1000.0, "error": 0.0}],
        "copies": copies,
    }  # fmt: skip


def test_the_tree_shows_who_descends_from_whom() -> None:
    tree = family_tree([row(1, []), row(2, [[0, 2]]), row(3, [[1, 0]])])
    assert "round 2: agent 0 copies agent 2" in tree
    assert "agent 0, descended from agent 0, rounds 0 to 2" in tree
    assert "agent 0, descended from agent 2, rounds 2 to 3" in tree
    assert "agent 1, descended from agent 2, rounds 3 to 3" in tree


def test_agents_have_colours_of_their_own() -> None:
    assert len({agent_colour(number, 30) for number in range(30)}) == 30


def test_a_report_tells_what_evolved(tmp_path: Path) -> None:
    rows = [row(number, [[0, 2]] if number == 7 else []) for number in range(1, 1001)]
    report = write_report(tmp_path, PopulationSettings(), rows).read_text()
    for part in ("The agents now", "Family tree", "Rewards of their own", "finish share", "learning rate"):
        assert part in report
    assert report.index("<td>agent 2</td>") < report.index("<td>agent 0</td>")  # the best one first
    assert "2020 ± 10" in report
    assert "(pinned)" in report
    assert len(report) < 200_000  # long runs are thinned out


def test_a_report_tells_by_which_rule_agents_are_copied(tmp_path: Path) -> None:
    for evolution, said in (
        (EvolutionSettings(), "An agent that would lose more than 70% of its matches against another copies it"),
        (EvolutionSettings(enabled=False), "no agent is copied"),
    ):
        assert said in write_report(tmp_path, PopulationSettings(evolution=evolution), [row(1, [])]).read_text()
    assert "A population of agents" in write_report(tmp_path, PopulationSettings(), []).read_text()  # before a round


def test_events_that_never_had_a_weight_have_no_chart(tmp_path: Path) -> None:
    rows = [row(1, []), row(2, [])]
    for one in rows:
        for agent in one["agents"]:
            agent["rewards"] = {"fall": -0.5, "won": 0.0, "hurdle_hit": 0.0}
    rows[0]["agents"][2]["rewards"]["won"] = 0.25
    report = write_report(tmp_path, PopulationSettings(), rows).read_text()
    rewards = report[report.index("Rewards of their own") : report.index("Settings of their learning")]
    assert [name in rewards for name in ("fall", "won", "hurdle hit")] == [True, True, False]
