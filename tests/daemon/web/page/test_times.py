"""Times on the page: in one zone, also those in a sentence."""

from muster.daemon.web.page.html import dated


def test_a_time_in_a_sentence_is_an_element_that_the_script_writes_in_the_readers_zone() -> None:
    said = dated("no step since 2026-11-23T04:16:25Z; <last> step 4")
    assert said == (
        'no step since <time datetime="2026-11-23T04:16:25Z">2026-11-23 04:16:25 UTC</time>; &lt;last&gt; step 4'
    )


def test_what_is_no_time_stays_text() -> None:
    assert dated("2026-99-99T99:99:99Z & more") == "2026-99-99T99:99:99Z &amp; more"
    assert dated("2026-02-31T04:16:25Z").startswith("<time")
