"""Items made ahead in a second thread."""

import threading
from collections.abc import Iterator

import pytest
import torch
from qwop.common.cores import use_cores
from qwop.policies.threads import AHEAD, ahead


@pytest.fixture(params=[1, 2])
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    """The number of cores of this thread."""
    use_cores(request.param)
    yield request.param
    use_cores(2)


def test_items_come_in_order(number: int) -> None:
    assert list(ahead(iter(range(30)))) == list(range(30))
    assert list(ahead(iter([]))) == []


def test_items_are_made_in_a_second_thread_where_there_is_a_second_core(number: int) -> None:
    makers = set(ahead(threading.get_ident() for _ in range(3)))
    assert (makers == {threading.get_ident()}) is (number == 1)
    assert set(ahead(torch.get_num_threads() for _ in range(3))) == {torch.get_num_threads()}


def test_an_error_is_raised_where_its_item_would_have_come(number: int) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise ValueError("the fourth")

    coming = ahead(items())
    assert [next(coming) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="the fourth"):
        next(coming)


def test_closing_ends_the_thread_and_makes_no_more(number: int) -> None:
    made = []

    def items() -> Iterator[int]:
        for item in range(1000):
            made.append(item)
            yield item

    coming = ahead(items())
    assert [next(coming) for _ in range(3)] == [0, 1, 2]
    coming.close()  # type: ignore[attr-defined]
    assert len(made) <= 3 + AHEAD
    assert not [one for one in threading.enumerate() if one.name.startswith("ahead")]
