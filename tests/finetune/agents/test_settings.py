import pytest
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.dqn.settings import DdqnSettings
from qwop.finetune.agents.ppo.settings import PpoSettings


def test_the_discount_keeps_its_horizon_in_seconds() -> None:
    settings = AcerSettings(gamma=0.99, gamma_rate=9.0)
    assert settings.gamma_at(9.0) == 0.99
    assert settings.gamma_at(25.0) == pytest.approx(0.9964, abs=5e-5)
    assert settings.gamma_at(18.0) ** 18 == pytest.approx(0.99**9)


@pytest.mark.parametrize("settings", [AcerSettings(), PpoSettings(), DdqnSettings()])
def test_the_discount_stays_where_no_rate_is_known(settings: AcerSettings | PpoSettings | DdqnSettings) -> None:
    assert settings.gamma_at(2 * settings.gamma_rate) == pytest.approx(settings.gamma**0.5)
    assert settings.gamma_at(None) == settings.gamma
