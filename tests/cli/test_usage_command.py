"""``muster usage``: what is printed of the answers of a Prometheus, and what it prints where there are none."""

import csv
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from muster.api.goodput import Bucket
from muster.cli.commands.goodput.usage import seconds_of
from tests.cli.conftest import Call, stderr_of
from tests.cli.test_goodput import FakePrometheus, fake_prometheus, vector

GPU = "nvidia.com/gpu"
PAGE = Path(__file__).parents[2] / "docs" / "goodput.md"


def counted(query: str) -> tuple[int, str]:
    """Two namespaces, as a real Prometheus has answered; of queries for other things, that there is something."""
    if "muster_build_info" in query:
        return vector(({}, 1))
    if "muster_namespace_accelerator" not in query:
        return vector()
    if " namespace) (max" not in query:
        return vector(({"resource": GPU, "bucket": "productive"}, 900_000))
    vision = {"namespace": "vision", "resource": GPU}
    if "lost_seconds" in query:
        causes = {"hang": 108_000, "node": 36_000, "program": 0}
        return vector(*((vision | {"cause": cause}, seconds) for cause, seconds in causes.items()))
    other = {"namespace": "_other", "resource": "google.com/tpu"}
    buckets = {"productive": 864_000.5, "taken_back": 144_000, "stuck": 108_000, "lost": 36_000, "assembly": 3_600}
    return vector(
        *((vision | {"bucket": bucket}, seconds) for bucket, seconds in buckets.items()),
        (vision | {"bucket": "a bucket of a newer Muster"}, 1),
        (other | {"bucket": "productive"}, 3_600),
        (other | {"bucket": "queued"}, 0),
        ({"namespace": "idle", "resource": GPU, "bucket": "productive"}, 0),
    )


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with fake_prometheus(FakePrometheus(counted)) as fake:
        yield fake


def test_the_parts_with_most_hours_come_first_and_their_columns_add_up(call: Call, prometheus: FakePrometheus) -> None:
    result = call("usage", "--prometheus", prometheus.url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"```text\n{result.stdout}```" in PAGE.read_text(encoding="utf-8")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["NAMESPACE", "RESOURCE", "HELD", "PRODUCTIVE", "GOODPUT", "STUCK", "RECOVERY", "LOST", "OTHER"],
        ["vision", GPU, "241.0", "200.0", "83.0", "%", "30.0", "0.0", "10.0", "1.0"],
        ["_other", "google.com/tpu", "1.0", "1.0", "100.0", "%", "0.0", "0.0", "0.0", "0.0"],
        [],
        ["NAMESPACE", "RESOURCE", "WASTED", "TO", "HANG", "TO", "NODE"],
        ["vision", GPU, "40.0", "30.0", "10.0"],
    ]
    assert "[2592000s]" in prometheus.asked[0][0], "30 days"


def test_programs_get_every_bucket(call: Call, prometheus: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_PROMETHEUS", prometheus.url)
    found = json.loads(call("usage", "-o", "json", "--since", "90m").stdout)
    assert found["unit"] == "accelerator-hours"
    first, _ = found["items"]
    assert {key: first[key] for key in ("namespace", "held", "stuck", "other")} == {
        "namespace": "vision", "held": 241.0001, "stuck": 30, "other": 0
    }  # fmt: skip
    assert sum(first[each] for each in Bucket) == pytest.approx(first["held"], abs=0.001)
    assert "[5400s]" in prometheus.asked[0][0]
    rows = list(csv.DictReader(call("usage", "-o", "csv").stdout.splitlines()))
    assert [(row["namespace"], row["resource"], row["held"]) for row in rows] == [
        ("vision", GPU, "241.0001"),
        ("_other", "google.com/tpu", "1.0"),
    ]
    causes = ["lost_to_hang", "lost_to_node", "lost_to_program"]
    assert [rows[0][cause] for cause in causes] == ["30.0", "10.0", "0.0"]
    assert [first[cause] for cause in causes] == [30, 10, 0]
    assert [rows[1][cause] for cause in causes] == ["0.0"] * 3
    assert set(rows[0]) == {"cluster", "namespace", "resource", "held", *Bucket, *causes}


def test_a_spreadsheet_sees_no_formula_and_a_terminal_no_escape(call: Call, prometheus: FakePrometheus) -> None:
    text = "=cmd\x1b[2J\n"
    prometheus.reply = lambda query: (
        vector(({"cluster": "+a", "namespace": text, "resource": "@x", "bucket": "productive"}, 7200))
        if "muster_namespace_accelerator_seconds" in query
        else vector(({}, 1))
    )
    (row,) = csv.DictReader(call("usage", "--prometheus", prometheus.url, "-o", "csv").stdout.splitlines())
    assert all(row[name].startswith("'") and "\x1b" not in row[name] for name in ("cluster", "namespace", "resource"))
    heads, line = call("usage", "--prometheus", prometheus.url).stdout.splitlines()
    assert heads.startswith("CLUSTER   NAMESPACE")
    assert "\x1b" not in line


def test_owners_have_their_hours_and_what_those_were_lost_to(call: Call, prometheus: FakePrometheus) -> None:
    def owners(query: str) -> tuple[int, str]:
        if "muster_owner_accelerator" not in query:
            return counted(query)
        assert 'label="label_team"' in query
        vision, unnamed = {"owner": "vision", "resource": GPU}, {"resource": GPU}
        if "lost_seconds" in query:
            return vector((vision | {"cause": "node"}, 18_000), (unnamed | {"cause": "hang"}, 36_000))
        return vector(
            (vision | {"bucket": "productive"}, 360_000),
            (vision | {"bucket": "stuck"}, 18_000),
            (unnamed | {"bucket": "stuck"}, 36_000),
        )

    prometheus.reply = owners
    result = call("usage", "--by", "owner", "--prometheus", prometheus.url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split()[:5] for line in result.stdout.splitlines()] == [
        ["OWNER", "RESOURCE", "HELD", "PRODUCTIVE", "GOODPUT"],
        ["vision", GPU, "105.0", "100.0", "95.2"],
        ["-", GPU, "10.0", "0.0", "0.0"],
        [],
        ["OWNER", "RESOURCE", "WASTED", "TO", "HANG"],
        ["-", GPU, "10.0", "10.0", "0.0"],
        ["vision", GPU, "5.0", "0.0", "5.0"],
    ]
    written = call("usage", "--by", "owner", "-o", "csv", "--prometheus", prometheus.url).stdout
    to = [(each["owner"], each["lost_to_hang"], each["lost_to_node"]) for each in csv.DictReader(written.splitlines())]
    assert to == [("vision", "0.0", "5.0"), ("", "10.0", "0.0")]


def test_a_label_that_no_run_has_is_named(call: Call, prometheus: FakePrometheus) -> None:
    prometheus.reply = lambda query: vector() if "owner" in query else counted(query)
    result = call("usage", "--by", "owner", "--owner-label", "unit", "--prometheus", prometheus.url)
    assert "no run has label_unit: name the label in musterd's setting owner_labels" in result.stderr


def test_what_the_figures_do_not_hold_is_reported(call: Call, prometheus: FakePrometheus) -> None:
    prometheus.reply = lambda _: vector(warnings=("a store\x1b is away",))
    result = call("usage", "--prometheus", prometheus.url, "-o", "csv")
    assert result.exit_code == 0
    assert result.stdout.startswith("cluster,namespace,resource,held,productive,queued,")
    assert len(result.stdout.splitlines()) == 1
    assert all(words in result.stderr for words in ("is away", "nothing of musterd from 30d ago", "does it scrape"))
    assert "\x1b" not in result.stderr


NO_NUMBER = '{"status": "success", "data": {"result": [{"metric": {}, "value": [1, "x"]}]}}'


@pytest.mark.parametrize(
    ("status", "body", "reported", "advice"),
    [
        (401, "", "status 401", "--token-file"),
        (403, "", "status 403", "--token-file"),
        (404, "", "status 404", "before /api/v1/query"),
        (302, "", "status 302", "ask its administrator"),
        (200, "<html>", "is no Prometheus", "before /api/v1/query"),
        (200, "[]", "is no Prometheus", "before /api/v1/query"),
        (200, NO_NUMBER, "is no Prometheus", "/api/v1/query"),
        (422, '{"status": "error", "error": "too many\\u001b samples"}', "refuses the query: too many", "shorter time"),
        (200, '{"status":"success","warnings":["' + "a" * (4 << 20) + '"]}', "more than 4 MiB", "ask for less"),
    ],
    ids=["401", "403", "404", "302", "html", "list", "value", "422", "large"],
)
@pytest.mark.parametrize("words", [("usage",), ("goodput", "-A", "--weeks", "1")], ids=["usage", "goodput"])
def test_an_error_names_the_address_the_query_and_what_to_do(
    call: Call, prometheus: FakePrometheus, words: tuple[str, ...], status: int, body: str, reported: str, advice: str
) -> None:
    prometheus.reply = lambda _: (status, body)
    error = stderr_of(call, 1, *words, "--prometheus", prometheus.url.replace("//", "//ann:secret@"))
    assert len(error.splitlines()) == 1
    assert f"muster: {prometheus.url}: " in error
    assert any(f"(asked: {query})" in error for query, _ in prometheus.asked)
    assert reported in error
    assert advice in error
    assert not {"\x1b", "secret"} & {each for each in ("\x1b", "secret") if each in error}


def test_a_token_and_an_authority_reach_one_that_asks_for_them(call: Call, tmp_path: Path) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("sesame\n")
    words = ("--token-file", tmp_path / "token")
    with fake_prometheus(FakePrometheus(counted), tls) as fake:
        result = call("usage", "--prometheus", fake.url, *words, "--ca-file", tmp_path / "ca.crt")
        assert result.exit_code == 0, result.output
        assert {header for _, header in fake.asked} == {"Bearer sesame"}
        error = stderr_of(call, 1, "usage", "--prometheus", fake.url, *words)
        assert "give the certificate of its authority with --ca-file" in error


@pytest.mark.parametrize(
    ("words", "status", "reported"),
    [
        ((), 2, "MUSTER_PROMETHEUS"),
        (("--token-file", "x"), 2, "go with --prometheus"),
        (("--prometheus", "prometheus:9090"), 1, "write http://HOST:9090"),
        (("--prometheus", "http://p", "--token-file", "x"), 1, "without encryption"),
        (("--prometheus", "https://p", "--token-file", "/dev/null"), 1, "/dev/null: holds no token"),
        (("--prometheus", "https://p", "--ca-file", __file__), 1, "holds no certificate in PEM form"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    call: Call, words: tuple[str, ...], status: int, reported: str
) -> None:
    assert reported in stderr_of(call, status, "usage", *words)


def test_the_seconds_of_all_are_one_sum() -> None:
    assert seconds_of("", 60).startswith("sum by (cluster, resource, bucket) (")
