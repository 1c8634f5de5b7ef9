from hypothesis import given
from hypothesis import strategies as st
from qwop.finetune.agents.agent import FractionalCounter


def test_a_quarter_gives_one_every_fourth_time() -> None:
    due = FractionalCounter()
    assert [due.take(0.25) for _ in range(8)] == [0, 0, 0, 1, 0, 0, 0, 1]


@given(st.lists(st.floats(0, 50), max_size=50))
def test_nothing_is_lost_or_given_twice(amounts: list[float]) -> None:
    due, given_out = FractionalCounter(), 0
    for number, amount in enumerate(amounts, 1):
        given_out += due.take(amount)
        assert sum(amounts[:number]) - 1 - 1e-9 < given_out <= sum(amounts[:number]) + 1e-9


def test_its_state_is_what_is_owed() -> None:
    one, other = FractionalCounter(), FractionalCounter()
    one.take(0.75)
    other.set_state(one.get_state())
    assert (one.take(0.25), other.take(0.25)) == (1, 1)
