import pytest

from app.setup.start import wants_offline


@pytest.mark.parametrize(
    ("arguments", "variables", "offline"),
    [
        (["doctor"], {}, False),
        (["--offline", "doctor"], {}, True),
        ([], {"TIMBRE_OFFLINE": "1"}, True),
        ([], {"TIMBRE_OFFLINE": "0"}, False),
        ([], {"TIMBRE_OFFLINE": ""}, False),
    ],
)
def test_a_person_can_ask_to_stay_off_the_network(arguments, variables, offline):
    assert wants_offline(arguments, variables) == offline
