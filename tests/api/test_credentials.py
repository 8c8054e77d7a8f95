"""What looks like a credential is removed from the words of programs; what does not is left as it is."""

import sys

import pytest

from muster.api.values import secrets
from muster.api.values.secrets import REMOVED, without_credentials
from muster.api.values.termination_message import words

VALUE = "abcdEFGH12345678"
HIDDEN = (
    f"SECRET_KEY={VALUE}",
    f"token={VALUE}",
    f"token = {VALUE}",
    f"TOKEN: {VALUE}",
    f"API_KEY={VALUE}",
    f'{{"api_key": "{VALUE}"}}',
    f"os.environ['DB_PASSWORD'] = '{VALUE}'",
    f"environ({{'AWS_SECRET_ACCESS_KEY': '{VALUE}', 'HOME': '/root'}})",
    f"password='{VALUE} with words'",
    f"passwd={VALUE}",
    f"dbPassword={VALUE}",
    f"pass={VALUE}",
    f"pwd={VALUE}",
    f"MYSQL_PWD={VALUE}",
    f"passphrase: {VALUE}",
    f"auth={VALUE}",
    f"AccountKey={VALUE}==;EndpointSuffix=core.windows.net",
    f"SharedAccessKey={VALUE}",
    f"https://x.blob.core.windows.net/a?se=1&sig={VALUE}&sp=r",
    f"https://x.s3.amazonaws.com/a?X-Amz-Signature={VALUE}&x=1",
    f"https://x/a?X-Amz-Security-Token={VALUE}",
    f"https://x/a?access_token={VALUE}",
    f"client_secret={VALUE}",
    f"private_key: '{VALUE}'",
    f"--token {VALUE}",
    f"--password='{VALUE}'",
    f"['--api-key', '{VALUE}']",
    f"Cookie: session={VALUE}; b=c",
    f"Set-Cookie: session={VALUE}",
    f"Authorization: Bearer {VALUE}",
    f"Authorization: Basic {VALUE}",
    f"'authorization': 'token {VALUE}'",
    f"X-Api-Key: {VALUE}",
    f"Bearer {VALUE}",
    f"redis://me:{VALUE}@host/0",
    f"postgresql+psycopg2://me:{VALUE}@host:5432/db",
    f"https://{VALUE}@github.com/x",
    f"sk_live_{VALUE}",
    f"sk-ant-api03-{VALUE}",
    f"ya29.{VALUE}",
    f"AIza{VALUE}{VALUE}",
    f"hf_{VALUE}",
    f"ghp_{VALUE}",
    f"glpat-{VALUE}",
    f"xoxb-{VALUE}",
    f"nvapi-{VALUE}",
    "AKIAIOSFODNN7" + "EXAMPLE",
    f"eyJhbGciOiJIUzI1NiJ9.{VALUE}.{VALUE}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{VALUE}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY----- {VALUE}",
    f"mysql://me:p@{VALUE}@host/db",
    f"//me:{VALUE}@host/db",
    f"https%3A%2F%2Fme%3A{VALUE}%40host%2Fdb",
    f"token%3D{VALUE}",
    f"curl -u me:{VALUE} x",
    f'{{\\"token\\": \\"{VALUE}\\"}}',
    f'{{"name": "DB_PASSWORD", "value": "{VALUE}"}}',
    f"name: DB_PASSWORD\n  value: {VALUE}",
    f"<password>{VALUE}</password>",
    f"('password', '{VALUE}')",
    f"b'api_key': b'{VALUE}'",
    f"auth=('me', '{VALUE}')",
    f"HTTPBasicAuth('me', '{VALUE}')",
    f"machine api.wandb.ai login user password {VALUE}",
    f"Incorrect API key provided: {VALUE}.",
    f"invalid token '{VALUE}'",
    f"the access key id {VALUE} does not exist",
    f"passwords=['{VALUE}']",
    f"token -> {VALUE}",
    f"https://maps.example/api?key={VALUE}",
    f"https://fn.example/run?x=1&code={VALUE}&y=2",
    f"the password for user me is '{VALUE}'",
    f"secret of tenant a was {VALUE}",
    f"push to me:{VALUE}@registry.example failed",
    f"proxy=me:{VALUE}@proxy",
)
SHOWN = (
    "loss 0.3 at step 7",
    "max_tokens=4096, 3000 tokens per second",
    "tokenizer=gpt2 author=Jane bypass=true sigma=0.12345 passed: 12345",
    "KeyError: 'token'",
    "RuntimeError: token 50256 is out of range",
    "SyntaxError: expected token: ';' got 'x'",
    "pass 3 of 4: loss 1.2",
    "first pass: 1234",
    "s3://bucket/path",
    "no such file: /secrets/token",
    "AuthenticationError: API key must be 40 characters long, yours was 5",
    "train.py:41 in next",
    "killed by signal=9",
    'MountVolume.SetUp failed for volume "w": secret "wandb-credentials-2024a" not found',
    "couldn't find key token in Secret team-a/wandb-credentials-2024a",
    "KeyError: \"['token', 'input_ids_v2_long'] not in index\"",
    "def f(token) -> identifier_2024",
    "the API key is provided by WANDB_KEY_2024_NEW",
    "http://10.0.0.1:8080/a/b@c",
    "git+ssh://git@github.com/x",
    "9 // step: 3 @ 4",
    "https://x/a?key=learning_rate_decay&y=2",
    "registry.example/team/train:release-2024-candidate@sha256:0123",
    "image train:release-2024-Candidate@sha256:0123",
    "the token for step 7 is out_of_vocabulary",
)


@pytest.mark.parametrize("said", HIDDEN)
def test_what_looks_like_a_credential_is_removed(said: str) -> None:
    left = without_credentials(said)
    assert VALUE not in left
    assert "EXAMPLE" not in left
    assert REMOVED in left


@pytest.mark.parametrize("said", SHOWN)
def test_what_does_not_is_left_as_it_is(said: str) -> None:
    assert without_credentials(said) == said


def test_quotes_and_what_follows_stay() -> None:
    assert without_credentials(f"{{'token': '{VALUE}', 'a': 1}}") == f"{{'token': '{REMOVED}', 'a': 1}}"
    assert without_credentials("redis://me:pass@host/0") == f"redis://{REMOVED}@host/0"


@pytest.mark.parametrize("said", HIDDEN)
def test_the_last_words_of_a_program_hold_none(said: str) -> None:
    traceback = f'Traceback (most recent call last):\n  File "train.py", line 4, in <module>\nValueError: {said}'
    for text in (said, traceback):
        found = words(text)
        assert VALUE not in f"{found.text} {found.last_line}"


def test_detectors_are_of_an_engine_whose_time_is_linear() -> None:
    assert type(secrets._detectors()).__module__.startswith(("re2", "_re2"))  # noqa: SLF001
    assert "re2" in sys.modules
