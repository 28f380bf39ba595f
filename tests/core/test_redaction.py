"""Each kind of secret is masked, its look-alike is not, and no text makes that slow."""

import json
import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextdash import redaction
from contextdash.redaction import PATTERNS, mask, try_out

HEX = "0123456789abcdef" * 4
LETTERS = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8" * 10

# kind: (a text with a secret in it, the secret, a text that only looks alike)
CASES = {
    "contextdash-token": (f"use cdt_{LETTERS[:43]} now", f"cdt_{LETTERS[:43]}", "cdt_short and my_cdt_table"),
    "private-key": (
        f"a\n-----BEGIN RSA PRIVATE KEY-----\n{LETTERS}\n{LETTERS}\n-----END RSA PRIVATE KEY-----\nb",
        LETTERS,
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    ),
    "aws-access-key": (
        "id AKIAIOSFODNN7EXAMPLE.",
        "AKIAIOSFODNN7EXAMPLE",
        "AKIAIOSFODNN7 and XAKIAIOSFODNN7EXAMPLE",
    ),
    "aws-temporary-key": ("ASIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", "ASIAN markets, ASIAPACIFIC"),
    "github-token": (f"ghp_{LETTERS[:36]}", f"ghp_{LETTERS[:36]}", "ghp_example and light ghost_writer"),
    "github-fine-grained-token": (
        f"github_pat_11ABCDEFG0{LETTERS[:60]}",
        LETTERS[:60],
        "github_pat_ is the prefix",
    ),
    "gitlab-token": (
        f"glpat-{LETTERS[:20]}",
        f"glpat-{LETTERS[:20]}",
        "glpat-short, glade-of-the-singing-bird-song",
    ),
    "slack-token": (
        f"xoxb-123456789012-{LETTERS[:24]}",
        LETTERS[:24],
        "xoxb-short, foxxox-and-hounds-together-ok",
    ),
    "slack-app-token": (f"xapp-1-A0123-{LETTERS[:30]}", LETTERS[:30], "xapp-launcher-with-a-long-name-here"),
    "slack-webhook": (
        f"https://hooks.slack.com/services/T0000/B0000/{LETTERS[:24]}",
        LETTERS[:24],
        "https://hooks.slack.com/services/",
    ),
    "stripe-key": (
        f"sk_live_{LETTERS[:24]}",
        f"sk_live_{LETTERS[:24]}",
        "task_live_reload_of_the_whole_page",
    ),
    "stripe-restricted-key": (
        f"rk_test_{LETTERS[:24]}",
        f"rk_test_{LETTERS[:24]}",
        "work_test_results_of_everything",
    ),
    "webhook-secret": (f"whsec_{LETTERS[:32]}", f"whsec_{LETTERS[:32]}", "whsec_ is the prefix"),
    "anthropic-key": (f"sk-ant-api03-{LETTERS[:80]}", LETTERS[:80], "task-ant-colony-optimisation-of-routes"),
    "openrouter-key": (f"sk-or-v1-{HEX}", HEX, "sk-or-v1-short"),
    "openai-key": (
        f"sk-proj-{LETTERS[:60]}",
        LETTERS[:60],
        "sk-learn, risk-proj-management-of-the-team-here",
    ),
    "google-api-key": (f"AIza{LETTERS[:35]}", f"AIza{LETTERS[:35]}", f"AIza{LETTERS[:20]}"),
    "google-oauth-token": (f"ya29.{LETTERS[:60]}", LETTERS[:60], "ya29.5 percent"),
    "google-client-secret": (f"GOCSPX-{LETTERS[:28]}", LETTERS[:28], "GOCSPX-x"),
    "npm-token": (f"npm_{LETTERS[:36]}", LETTERS[:36], "npm_config_registry, npm_lifecycle_event"),
    "pypi-token": (f"pypi-AgEIcHlwaS5vcmc{LETTERS[:80]}", LETTERS[:80], "pypi-AgE is how they begin"),
    "docker-token": (f"dckr_pat_{LETTERS[:27]}", LETTERS[:27], "dckr_pat_x"),
    "hugging-face-token": (f"hf_{LETTERS[:34]}", LETTERS[:34], "hf_hub_download(repo_id), hf_transformers"),
    "sendgrid-key": (f"SG.{LETTERS[:22]}.{LETTERS[:43]}", LETTERS[:43], "SG.no.key, MSG.text"),
    "digitalocean-token": (f"dop_v1_{HEX}", HEX, "dop_v1_short, api_v1_handler"),
    "shopify-token": (f"shpat_{HEX[:32]}", HEX[:32], "shpat_no, shape_of_things"),
    "databricks-token": (f"dapi{HEX[:32]}", HEX[:32], "dapi0123, dapibus"),
    "vault-token": (f"hvs.{LETTERS[:90]}", LETTERS[:90], "hvs.short"),
    "telegram-token": (f"123456789:AA{LETTERS[:33]}", LETTERS[:33], "12:AA and 123456789:AA"),
    "age-key": (
        f"AGE-SECRET-KEY-1{'QPZRY9X8GF' * 6}"[:74],
        "QPZRY9X8GF",
        "AGE-SECRET-KEY-1 is how they begin",
    ),
    "azure-key": (f"AccountName=x;AccountKey={LETTERS[:86]}==", LETTERS[:86], "AccountKey=short"),
    "jwt": (f"eyJ{LETTERS[:20]}.eyJ{LETTERS[:40]}.{LETTERS[:43]}", LETTERS[:43], f"eyJ{LETTERS[:20]}.rest"),
    "url-password": (
        "postgres://app:hunter2@db:5432/app",
        "hunter2",
        "http://127.0.0.1:8765/a@b, https://user@host/, postgres://app:${PW}@db",
    ),
    "authorization-header": (
        f'curl -H "Authorization: Basic {LETTERS[:24]}"',
        LETTERS[:24],
        "Authorization: Bearer is needed; authorization: required",
    ),
    "bearer-token": (f"Bearer {LETTERS[:40]}", LETTERS[:40], "the bearer of exceptionallylongnamesandtitles"),
    "password-variable": (
        "DB_PASSWORD=correcthorse",
        "correcthorse",
        "DB_PASSWORD=$OTHER, PASSWORD=(read it)",
    ),
    "secret-variable": ("CLIENT_SECRET=abcdefgh", "abcdefgh", "SECRET=${{ secrets.X }}, SECRETS=abcdefgh"),
    "token-variable": ("BOT_TOKEN=abcdefgh", "abcdefgh", "MAX_TOKENS=100000, TOKEN=$(make-one)"),
    "key-variable": ("API_KEY=abcdefgh", "abcdefgh", "PRIMARY_KEY=customer_id, API_KEY=<yours>"),
    "password": (
        '{"password": "correcthorse"}',
        "correcthorse",
        'password: str, password = getpass(), password="********", password=os.environ["P4SSWORD"]',
    ),
    "secret": (
        "client_secret: 'abcdef123'",
        "abcdef123",
        "secret = make_secret(32), the secret: nobody knows, secretary: anna12345",
    ),
    "key": (
        '"api_key" => "abcdef123"',
        "abcdef123",
        "key = row2value9, primary_key: customer12, api_key=settings.KEY2",
    ),
    "token": (
        "access_token=abc123def456",
        "abc123def456",
        "token = next2token9, tokens: 12345678, access_token: str | None",
    ),
}


def test_every_kind_has_a_case():
    assert {pattern.kind for pattern in PATTERNS} == set(CASES)


@pytest.mark.parametrize("kind", CASES)
def test_a_secret_is_masked_and_its_kind_is_named(kind):
    text, secret, _ = CASES[kind]
    masked = mask(text)
    assert f"[masked: {kind}]" in masked
    assert secret not in masked


@pytest.mark.parametrize("kind", CASES)
def test_what_only_looks_alike_stays(kind):
    look_alike = CASES[kind][2]
    assert mask(look_alike) == look_alike


@pytest.mark.parametrize("kind", CASES)
def test_a_secret_is_masked_inside_a_json_text_too(kind):
    text, secret, _ = CASES[kind]
    masked = mask(json.dumps({"stdout": text, "after": 1}))
    assert json.dumps(secret)[1:-1] not in masked
    assert f"[masked: {kind}]" in masked


@pytest.mark.parametrize("kind", CASES)
def test_masking_twice_changes_nothing_more(kind):
    once = mask(CASES[kind][0])
    assert mask(once) == once


def test_what_stands_around_a_secret_stays():
    assert mask("postgres://app:hunter2@db:5432/app") == "postgres://app:[masked: url-password]@db:5432/app"
    assert mask('{"password": "correcthorse", "n": 1}') == '{"password": "[masked: password]", "n": 1}'


def test_several_secrets_in_one_text_are_all_masked():
    keys = [f"ghp_{number}{LETTERS[:36]}" for number in range(5)]
    assert mask(" ".join(keys)) == " ".join(["[masked: github-token]"] * 5)


def test_a_dotted_capital_i_before_a_secret_does_not_shift_the_mask():
    assert mask('İİİ password = "correcthorse" İ') == 'İİİ password = "[masked: password]" İ'


def test_a_private_key_that_was_cut_off_is_masked_to_its_end():
    assert LETTERS not in mask(f"-----BEGIN PRIVATE KEY-----\n{LETTERS}")


WORDS = [
    "gh",
    "glpat",
    "xoxb",
    "sk",
    "hvs",
    "SG",
    "ya29",
    "dop",
    "v1",
    "_",
    "-",
    ".",
    " ",
    '"',
    "İ",
    LETTERS[:40],
]


@settings(max_examples=500)
@given(st.lists(st.sampled_from([text for text, _, _ in CASES.values()] + WORDS) | st.text(max_size=5)))
def test_the_looks_for_small_texts_miss_nothing(pieces):
    text = "".join(pieces)
    quick = try_out(text)
    with patch.object(redaction, "SMALL_CHARS", -1):
        assert try_out(text) == quick


@pytest.mark.parametrize("kind", CASES)
def test_a_secret_in_a_long_text_is_masked_as_well(kind):
    text, secret, _ = CASES[kind]
    assert secret not in mask("x " * redaction.SMALL_CHARS + text)


@given(st.text())
def test_any_text_can_be_masked(text):
    assert isinstance(mask(text), str)


@pytest.mark.parametrize(
    "unit",
    [
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "api_key",
        "://a:",
        "eyJaaaaaaaa.",
        "authorization: bearer ",
        "PASSWORD_A",
        "sk-",
        "a" * 50 + "1",
    ],
)
def test_a_megabyte_of_beginnings_is_read_in_linear_time(unit):
    text = unit * (2**20 // len(unit))
    started = time.perf_counter()
    mask(text)
    # A quadratic pattern takes minutes here; the limit leaves room for a busy machine.
    assert time.perf_counter() - started < 10
