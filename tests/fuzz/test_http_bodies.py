"""Some hostile bodies, the same each time; `make fuzz` sends many more."""

from __future__ import annotations

from tests.fuzz.http_bodies import run


def test_a_hostile_body_is_answered_and_the_service_goes_on() -> None:
    assert run(seed=19, cases=120) == []
