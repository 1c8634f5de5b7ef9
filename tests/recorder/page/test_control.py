"""Control in each frame."""

from qwop.datasets.control import PERSON, POLICY
from qwop.recorder.page.environment_game import Control


def actors(control: Control, *held: int) -> list[int | None]:
    return [control.actor(keys) for keys in held]


def test_a_pressed_key_takes_over_at_once_and_letting_go_gives_back() -> None:
    assert actors(Control(2), 0, 4, 0, 0, 0, 0) == [POLICY, PERSON, PERSON, PERSON, POLICY, POLICY]


def test_a_key_in_between_keeps_control() -> None:
    assert actors(Control(2), 1, 0, 0, 2, 0, 0, 0) == [PERSON] * 6 + [POLICY]


def test_control_that_was_taken_without_a_key_waits_for_the_first() -> None:
    control = Control(1)
    control.hand_over()
    assert actors(control, 0, 0, 0, 1, 0, 0) == [PERSON] * 5 + [POLICY]


def test_the_policy_keeps_control_from_keys_that_are_still_held() -> None:
    control = Control(1)
    assert actors(control, 5) == [PERSON]
    control.hand_over(5)
    assert actors(control, 5, 1, 0, 1) == [POLICY, POLICY, POLICY, PERSON]


def test_another_key_takes_over_while_the_first_is_held() -> None:
    control = Control(1)
    control.actor(1)
    control.hand_over(1)
    assert actors(control, 1, 3) == [POLICY, PERSON]


def test_after_going_back_the_game_waits_for_a_key() -> None:
    control = Control(5)
    control.wait()
    assert actors(control, 0, 0, 8) == [None, None, PERSON]
    control.wait(held=4)  # as the runner falls, one has keys down
    assert actors(control, 4, 4, 12) == [None, None, PERSON]
    control.wait(held=4)
    assert actors(control, 4, 0, 4) == [None, None, PERSON]
    control.wait()
    control.hand_over()
    assert control.actor(0) == PERSON
