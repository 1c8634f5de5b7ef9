"""Settings that d3rlpy's cloning refuses; whole clones are among the command's tests."""

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.policies.networks import Actor
from qwop.pretrain import d3rlpy_backend
from qwop.pretrain.rows import Rows
from qwop.pretrain.settings import CloningSettings


def test_decisions_of_different_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(d3rlpy_backend, "require_d3rlpy", lambda settings: None)
    weights = np.array([1.0, 0.5], dtype=np.float32)
    rows = Rows(np.zeros((2, 4), np.float32), np.zeros(2, np.int64), np.zeros(2, np.int64), None, weights)
    with pytest.raises(BadInput, match="policy_weight, person_weight: DiscreteBC weighs all decisions alike"):
        next(d3rlpy_backend.d3rlpy_epochs(Actor(4, 3, (8,)), rows, CloningSettings(), seed=0))
