import pytest
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.discounting import time_scaled_discount
from qwop.finetune.agents.dqn.settings import DdqnSettings
from qwop.finetune.agents.ppo.settings import PpoSettings


def test_the_discount_keeps_its_horizon_in_seconds() -> None:
    assert time_scaled_discount(0.99, 9, 9) == 0.99
    assert time_scaled_discount(0.99, 9, 25) == pytest.approx(0.9964, abs=5e-5)
    assert time_scaled_discount(0.99, 9, 18) ** 18 == pytest.approx(0.99**9)


@pytest.mark.parametrize("settings", [AcerSettings(), PpoSettings(), DdqnSettings()])
def test_settings_follow_the_rate_and_stay_without_one(settings: AcerSettings | PpoSettings | DdqnSettings) -> None:
    faster = settings.at_rate(2 * settings.gamma_rate)
    assert faster.gamma == pytest.approx(settings.gamma**0.5)
    assert faster.at_rate(settings.gamma_rate).gamma == pytest.approx(settings.gamma)
    assert settings.at_rate(None) == settings
