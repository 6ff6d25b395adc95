"""Processes speak to each other in whole messages, and one that nobody hears ends."""

from __future__ import annotations

from multiprocessing import Pipe

import numpy as np
import pytest
from other_processes import printed

from assay.processes.child import Emitter, Event, Finish, Unheard, attempt, receive, send


def test_a_message_arrives_as_it_was_sent():
    here, there = Pipe()
    value = {"a": np.arange(1000.0), "none": np.empty(0), "text": "ß", "few": np.arange(6).reshape(2, 3)[:, ::2]}
    send(here, Finish("done", value=value))
    send(here, Event(("step", 1)))
    found = receive(there)
    assert found.state == "done"
    for key in ("a", "none", "few"):
        np.testing.assert_array_equal(found.value[key], value[key])
    found.value["a"][0] = 1.0  # arrays can be written
    assert receive(there) == Event(("step", 1))
    here.close()
    with pytest.raises(EOFError):
        receive(there)


@pytest.mark.parametrize("end", ["a word", "the end"])
def test_work_that_nobody_hears_ends_at_the_next_thing_it_tells(end):
    here, there = Pipe()
    done = []

    def work(emit):
        for step in range(3):
            emit(step)
            done.append(step)
            if step == 1:
                send(here, None) if end == "a word" else here.close()

    with pytest.raises(Unheard):
        attempt(work, Emitter(there))
    assert done == [0, 1]


def test_to_speak_with_workers_needs_no_numpy():
    code = (
        "import sys, assay.studio.pool\nprint([name for name in ('numpy', 'numba', 'pyarrow') if name in sys.modules])"
    )
    assert printed(code) == "[]\n"
