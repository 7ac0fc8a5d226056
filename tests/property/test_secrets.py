"""Redacting holds for every text, not only for the examples."""

import string

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seamark_sidecar.model.secrets import find_secrets, redact

ALPHANUMERIC = string.ascii_letters + string.digits
BASE64 = ALPHANUMERIC + "+/"
UPPER = string.ascii_uppercase + string.digits


def some(alphabet, least, most):
    return st.text(alphabet, min_size=least, max_size=most)


def fixed(form, secret):
    """A form with the part of it that must not survive."""
    return secret.map(lambda value: (form.replace("@@", value), value))


def with_digit(secret):
    return secret.map(lambda value: f"{value[:-1]}7" if value.isalpha() else value)


tokens = with_digit(some(ALPHANUMERIC, 16, 60)).filter(lambda value: not value.isdigit())
# Each with a tail that makes it no name, type or example: those are skipped on purpose.
passwords = st.builds(
    "{}{}{}".format,
    st.sampled_from(ALPHANUMERIC),
    some(ALPHANUMERIC + "!#%^*~", 4, 24),
    st.sampled_from(["7#k", "0Qq", "42z"]),
)
key_bodies = st.lists(some(BASE64, 64, 64), min_size=1, max_size=8).map("\n".join)

secrets = st.one_of(
    fixed("sk-@@", some(ALPHANUMERIC, 48, 48)),
    fixed("sk-proj-@@", some(ALPHANUMERIC + "_-", 40, 160)),
    fixed("sk-ant-@@", some(ALPHANUMERIC + "-", 95, 95)),
    *(fixed(f"gh{kind}_@@", some(ALPHANUMERIC, 36, 36)) for kind in "pousr"),
    fixed("github_pat_@@", some(ALPHANUMERIC + "_", 82, 82)),
    fixed("AKIA@@", some(UPPER, 16, 16)),
    fixed("-----BEGIN RSA PRIVATE KEY-----\n@@\n-----END RSA PRIVATE KEY-----", key_bodies),
    fixed("-----BEGIN OPENSSH PRIVATE KEY-----\n@@", key_bodies),
    fixed("password = @@", passwords),
    fixed("password: @@", passwords),
    fixed("password='@@'", passwords),
    fixed('"password": "@@"', passwords),
    fixed("DB_PASSWORD=@@", passwords),
    fixed("Authorization: Bearer @@", tokens),
    fixed("Authorization: Basic @@", some(BASE64, 16, 40).map(lambda value: f"{value}7==")),
    fixed("postgres://me:@@@host/db", passwords),
)
# Between a secret and its surroundings stands what stands there in real text.
edges = st.sampled_from([" ", "\n", "\t", "\r\n"])
anything = st.text(max_size=60)
# Close to what the rules look for, so that rules meet each other.
pieces = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "password", "=", ":", " ", '"', "'", "\\", "\n", "@", "://", "a1", "sk-", "sk-ant-",
                "ghp_", "AKIA", "bearer ", "Authorization: Basic ", "-----BEGIN PRIVATE KEY-----",
                "-----END ", "-----", "[redacted:", "]", "x", "0123456789abcdefABCDEF",
                "ABCDEFGHIJKLMNOP", "secret_access_key=", "--", "pwd", "${", "{", "`", "passphrase",
            ]
        ),
        st.text(max_size=5),
        secrets.map(lambda pair: pair[0]),
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.text(), pieces))
def test_redacting_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once.text).text == once.text
    assert redact(once.text).count == 0
    assert (once.count == 0) == (once.text == text)


@settings(deadline=None)
@given(st.one_of(st.text(), pieces))
def test_spans_are_in_order_within_the_text_and_apart(text):
    position = 0
    for span in find_secrets(text):
        assert position <= span.start < span.end <= len(text)
        position = span.end


@settings(deadline=None)
@given(anything, edges, secrets, edges, anything)
def test_no_secret_survives_in_any_surroundings(before, left, secret, right, after):
    form, value = secret
    assume(not any(line in before + after for line in value.splitlines()))
    clean = redact(before + left + form + right + after).text
    for line in value.splitlines():
        assert line not in clean


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_is_not_secret_stays_as_it_was(text):
    position = 0
    kept = []
    for span in find_secrets(text):
        kept.append(text[position : span.start])
        position = span.end
    kept.append(text[position:])
    clean = redact(text).text
    assert all(part in clean for part in kept)
