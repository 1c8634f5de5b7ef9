"""The tutorial's commands, as a scripted person runs them."""

import pytest

pytest.importorskip("selenium", reason="needs selenium (the extra 'browser')")

from .scripts import load_script

script = load_script("tutorial")


@pytest.mark.parametrize(("person", "schedule"), [("beginner", "person"), ("finisher", "person")])
def test_the_page_has_a_way_for_each_person(person: str, schedule: str) -> None:
    record, look, (clone, improve, evaluate) = script.way(person)
    assert record == "qwop-record source.player=me"
    assert 'open_dataset("data/me")' in look
    assert clone == "qwop-pretrain dataset=data/me out=runs/me"
    assert improve == f"qwop-finetune policy=runs/me/policy.safetensors schedule={schedule} out=runs/me-faster"
    assert evaluate == "qwop-evaluate policy=runs/me-faster/policy.safetensors"
