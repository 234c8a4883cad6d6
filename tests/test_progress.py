"""Progress without a terminal: a line after ten seconds, then one a minute; nothing for short work."""

import io

from searchless_rl.progress import Progress


class _Clock:
    def __init__(self):
        self.seconds = 100.0

    def __call__(self):
        return self.seconds


def _run(steps, seconds_a_step, initial=0, **options):
    """Lines shown by work of `steps` steps."""
    clock, stream = _Clock(), io.StringIO()
    with Progress(
        "cell", initial + steps, "step", initial=initial, stream=stream, clock=clock, **options
    ) as progress:
        for _ in range(steps):
            clock.seconds += seconds_a_step
            progress.update()
    return stream.getvalue().splitlines()


def test_a_line_a_minute_with_rate_and_time_left():
    assert _run(100, 2.5) == [
        "cell: step 4 of 100, 0.4 steps/s, 4:00 left",
        "cell: step 28 of 100, 0.4 steps/s, 3:00 left",
        "cell: step 52 of 100, 0.4 steps/s, 2:00 left",
        "cell: step 76 of 100, 0.4 steps/s, 1:00 left",
        "cell: step 100 of 100, 0.4 steps/s, 0 s left",
    ]


def test_work_that_continues_counts_its_own_steps_for_the_rate():
    assert _run(4, 3600, initial=6)[0] == "cell: step 7 of 10, 0.000278 steps/s, 3:00:00 left"


def test_short_work_stays_silent():
    assert _run(9, 1) == []


def test_nothing_is_shown_where_nobody_asks():
    assert _run(100, 100, show=False) == []


class _Gone(io.StringIO):
    """A terminal that is gone, or a pipe that nobody reads."""

    def __init__(self, terminal):
        super().__init__()
        self._terminal = terminal

    def isatty(self):
        return self._terminal

    def write(self, text):
        raise OSError(5, "Input/output error")


def test_a_terminal_that_is_gone_does_not_end_the_work():
    for terminal in (True, False):
        clock = _Clock()
        with Progress("cell", 9, "step", stream=_Gone(terminal), clock=clock) as progress:
            for _ in range(9):
                clock.seconds += 20
                progress.update()
