from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.control import Branch
from qwop.datasets.parquet import arrow_schema
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec


def replaced(values: Any, index: Any, value: Any) -> Any:
    changed = values.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("observations", lambda a: a[:-1], r"observations are float32 \[5, 71\], expected float32 \[6, 71\]"),
        ("rewards", lambda a: np.append(a, a), r"rewards are float32 \[10\], expected float32 \[5\]"),
        ("observations", lambda a: replaced(a, (2, 3), np.nan), "observations hold a number that is not finite"),
        ("actions", lambda a: a.astype(np.int64), "actions are int64"),
        ("actions", lambda a: replaced(a, 0, 11), "actions hold a number outside 0 … 10"),
        ("actions", lambda a: replaced(a, 0, -1), "actions hold a number outside 0 … 10"),
        ("rewards", lambda a: replaced(a, 1, np.inf), "rewards hold a number that is not finite"),
        ("times", lambda a: a[::-1].copy(), "times decrease"),
        ("behaviour_probabilities", lambda a: a[:, 0], "expected \\[T, A\\]"),
        ("behaviour_probabilities", lambda a: a * np.float32(0.9), "sum to 0.900000"),
        ("behaviour_probabilities", lambda a: -a, "is negative"),
        (
            "behaviour_probabilities",
            lambda a: np.eye(11, dtype=np.float32)[(a.argmax(1) + 1) % 11],
            "has behaviour probability 0",
        ),
        ("actions", lambda a: a[:0], "has no decision"),
        ("keys", lambda keys: keys[1:], "keys for 4 decisions, expected 5"),
        ("keys", lambda keys: tuple(frames.astype(np.int64) for frames in keys), "keys are int64"),
        ("keys", lambda keys: tuple(frames + np.uint8(16) for frames in keys), "keys hold a number above 15"),
        ("outcome", lambda _: "won", "outcome 'won'"),
        ("metres", lambda _: np.nan, "metres is nan"),
        ("metres", lambda _: "far", "metres is far, expected a number"),
        ("terminated", lambda _: False, "neither terminated nor truncated"),
        ("truncated", lambda _: 1, "truncated is 1, expected true or false"),
        ("player", lambda _: None, "player is null, expected text"),
        ("max_idle_frames", lambda _: -1, "max_idle_frames is -1, expected at least 0"),
        ("seed", lambda _: True, "seed is true, expected a whole number"),
        ("actors", lambda _: np.array([0, 0, 2, 0, 0], np.int8), "actors hold 2 in row 2"),
        ("actors", lambda _: np.zeros(4, np.int8), r"actors are int8 \[4\], expected int8 \[5\]"),
        (
            "policy_probabilities",
            lambda _: np.full((5, 11), 0.1, np.float32),
            "policy probabilities of row 0 sum to 1.1",
        ),
        ("branch", lambda _: Branch(0, 6), "a branch after 6 decisions"),
    ],
)
def test_an_invalid_episode_is_refused(
    make_episode: Callable[..., Episode], field: str, change: Callable[[Any], Any], message: str
) -> None:
    good = make_episode()
    with pytest.raises(ValueError, match=message):
        make_episode(**{field: change(getattr(good, field))})


def test_numpys_scalars_become_plain_ones(make_episode: Callable[..., Episode]) -> None:
    scalars = {"terminated": np.bool_(True), "metres": np.float32(1.5), "max_idle_frames": np.uint16(9)}
    episode = make_episode(**scalars, player=np.str_("me"))
    plain = [getattr(episode, name) for name in (*scalars, "player")]
    assert [(type(one), one) for one in plain] == [(bool, True), (float, 1.5), (int, 9), (str, "me")]


def test_columns_are_the_documented_ones(info: DatasetInfo) -> None:
    names: dict[str, list[str]] = {}
    for column in arrow_schema(info):
        names.setdefault(str(column.type).replace("element: ", "").replace("item: ", ""), []).append(column.name)
    assert names == {
        "int32": ["episode_index", "step_index"],
        "fixed_size_list<float>[71]": ["observation", "final_observation"],
        "int16": ["action"],
        "fixed_size_list<float>[11]": ["behaviour_probabilities", "policy_probabilities"],
        "float": ["reward"],
        "bool": ["terminated", "truncated"],
        "list<uint8>": ["keys"],
        "double": ["timestamp", "final_timestamp", "metres", "mu_epsilon"],
        "int8": ["actor"],
        "dictionary<values=string, indices=int32, ordered=0>": ["player", "source", "outcome", "mu_kind"],
        "int64": ["seed"],
    }


@pytest.mark.parametrize("change", [{"actions": {}}, {"more": 1}, {"observation": []}, {"actions": {"count": 0}}])
def test_anything_else_is_refused(info: DatasetInfo, change: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="not a dataset description"):
        DatasetInfo.from_json({**info.to_json(), **change})
    with pytest.raises(BadInput, match="not a dataset description"):
        DatasetInfo.from_json([])


def test_differences_name_the_settings_and_what_is_observed(info: DatasetInfo) -> None:
    settings = {"frames_per_step": 4, "observation_lag": 1}
    other = DatasetInfo(EnvironmentSpec("QWOP-v1", settings), ObservationSpec((84, 84), "uint8"), 9)
    assert info.differences(other) == [
        "frames_per_step is 3, not 4",
        "observation_lag is 0, not 1",
        "observations is float32 [71], not uint8 [84, 84]",
        "actions is 11, not 9",
    ]
    named = EnvironmentSpec("QWOP-v1", {**info.environment.settings, "observation_lag": 0, "time_limit": 120.0})
    assert info.differences(DatasetInfo(named, info.observation, info.actions)) == []  # no more than defaults
    race = DatasetInfo(EnvironmentSpec("QWOPRace-v1", {"frames_per_step": 2}), info.observation, info.actions)
    assert info.differences(race) == ["environment is QWOP-v1, not QWOPRace-v1"]
    assert race.differences(info) == ["environment is QWOPRace-v1, not QWOP-v1"]
