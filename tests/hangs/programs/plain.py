"""A program of no framework: it prints its steps, and then no more, or seldom."""

from itertools import count

from tests.hangs.programs import course, pauses, ways

for step in count():
    course.next_batch()
    course.step_ends(step)
    if course.opens():
        course.begins()
        if course.WAY == "computes_and_prints_nothing":
            pauses.evaluate(course.minutes(4))
        else:
            getattr(ways, course.WAY)()
        course.ends()
