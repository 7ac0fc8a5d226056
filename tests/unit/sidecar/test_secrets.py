"""What counts as a secret, and what only looks like one."""

import json
import time

import pytest

from seamark_sidecar.model.secrets import RULES, Redacted, SecretSpan, find_secrets, redact

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Put together here, so that no scanner takes this file for a leak.
OPENAI = "sk-" + LETTERS[:48]
OPENAI_PROJECT = "sk-" + "proj-" + LETTERS[:40] + "_-" + LETTERS[:8]
ANTHROPIC = "sk-" + "ant-api03-" + (LETTERS * 2)[:84] + "AA"
GITHUB = [f"gh{kind}_" + LETTERS[:36] for kind in "pousr"]
GITHUB_FINE = "github" + "_pat_" + LETTERS[:22] + "_" + LETTERS[:59]
AWS_ID = "AKIA" + "QYLPMN5HFIQR7XYA"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"
BODY = "\n".join(["MIIEpAIBAAKCAQEA" + LETTERS[:48]] * 3)


def block(kind, body=BODY):
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


FIXED = [
    ("openai-key", OPENAI),
    ("openai-key", OPENAI_PROJECT),
    ("openai-key", "sk-" + "svcacct-" + LETTERS[:40]),
    ("anthropic-key", ANTHROPIC),
    *(("github-token", token) for token in GITHUB),
    ("github-token", GITHUB_FINE),
    ("aws-access-key-id", AWS_ID),
    ("aws-access-key-id", AWS_ID.replace("AKIA", "ASIA")),
    ("private-key", block("RSA ")),
    ("private-key", block("EC ")),
    ("private-key", block("OPENSSH ")),
    ("private-key", block("ENCRYPTED ")),
    ("private-key", block("")),
]


@pytest.mark.parametrize(("rule", "secret"), FIXED)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "the key is {}.",
        "KEY={}\n",
        '"{}"',
        "'{}'",
        "[{}]",
        "x={}&y=1",
        "\x1b[32m{}\x1b[0m",
        "é{}é",
    ],
)
def test_a_known_kind_of_secret_is_replaced_and_its_surroundings_stay(rule, secret, around):
    expected = around.format(f"[redacted:{rule}]")
    assert redact(around.format(secret)) == Redacted(expected, 1)


@pytest.mark.parametrize(("rule", "secret"), FIXED)
def test_secrets_in_json_are_found_and_the_json_stays_valid(rule, secret):
    def nested(value):
        inner = json.dumps({"content": f"first\n{value}\nlast"})
        return json.dumps({"arguments": inner, "n": 1})

    assert redact(nested(secret)) == Redacted(nested(f"[redacted:{rule}]"), 1)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        # Assignments, in the languages an agent reads.
        ("password = hunter2", "password = [redacted:password]"),
        ("password=hunter2", "password=[redacted:password]"),
        ("password: hunter2", "password: [redacted:password]"),
        ('password = "hunter"', 'password = "[redacted:password]"'),
        ("password = 'correct'", "password = '[redacted:password]'"),
        ('password: str = "hunter"', 'password: str = "[redacted:password]"'),
        ('password: str | None = "hunter"', 'password: str | None = "[redacted:password]"'),
        ('password = b"hunter"', 'password = b"[redacted:password]"'),
        ('password := "hunter"', 'password := "[redacted:password]"'),
        ("password => 'hunter',", "password => '[redacted:password]',"),
        ('if password == "hunter":', 'if password == "[redacted:password]":'),
        ('self.dbPassword = "hunter"', 'self.dbPassword = "[redacted:password]"'),
        ('connect(me, password="hunter")', 'connect(me, password="[redacted:password]")'),
        ('environ["DB_PASSWORD"] = "hunter"', 'environ["DB_PASSWORD"] = "[redacted:password]"'),
        ('{"password": "hunter", "a": 1}', '{"password": "[redacted:password]", "a": 1}'),
        ('{"passwd":"hunter"}', '{"passwd":"[redacted:password]"}'),
        (r'"{\"password\": \"hunter\"}"', r'"{\"password\": \"[redacted:password]\"}"'),
        ('password = "hun\\"ter"', 'password = "[redacted:password]"'),
        ("PASSWORD: Hunter2!", "PASSWORD: [redacted:password]"),
        ("pAsSwOrD = hunter2", "pAsSwOrD = [redacted:password]"),
        ("Uid=sa;Pwd=hunter22;Db=x", "Uid=sa;Pwd=[redacted:password];Db=x"),
        ("**Password:** hunter2", "**Password:** [redacted:password]"),
        ("Password: `hunter`", "Password: `[redacted:password]`"),
        ("password: $2b$12$abcdefghijklmnopqrstuv", "password: [redacted:password]"),
        ("passphrase = 'correct horse battery'", "passphrase = '[redacted:password]'"),
        # Shells.
        ("export DB_PASSWORD=letmein", "export DB_PASSWORD=[redacted:password]"),
        ("PGPASSWORD=letmein psql -h db", "PGPASSWORD=[redacted:password] psql -h db"),
        ("mysql --password=hunter2 -u me", "mysql --password=[redacted:password] -u me"),
        ("tool --db-password hunter2 --x", "tool --db-password [redacted:password] --x"),
        (r'{"cmd": "PASSWORD=letmein\nls"}', r'{"cmd": "PASSWORD=[redacted:password]\nls"}'),
        ("GET /x?password=hunter2&y=1", "GET /x?password=[redacted:password]&y=1"),
        # Cut in the middle.
        ('password = "hunter2', 'password = "[redacted:password]'),
        # Two on a line.
        ("password=hunter2 pwd=hunter3", "password=[redacted:password] pwd=[redacted:password]"),
        # Headers.
        ("-H Auth: Bearer abc123def456ghi7", "-H Auth: Bearer [redacted:authorization]"),
        ('"auth": "bearer abc123def456ghi789"', '"auth": "bearer [redacted:authorization]"'),
        ("'Authorization: Basic dXNlcjpwYXNz'", "'Authorization: Basic [redacted:authorization]'"),
        ("Authorization: token 0123456789abcdef", "Authorization: token [redacted:authorization]"),
        # Addresses.
        ("postgres://me:s3cret@db:5432/x", "postgres://me:[redacted:url-password]@db:5432/x"),
        ("https://me:p@ss@host/x", "https://me:[redacted:url-password]@host/x"),
        ("redis://:s3cret@cache", "redis://:[redacted:url-password]@cache"),
        ("https://0123456789abcdef0123@host/x", "https://[redacted:url-token]@host/x"),
        # AWS.
        (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", "AWS_SECRET_ACCESS_KEY=[redacted:aws-secret-key]"),
        (f'"SecretAccessKey": "{AWS_SECRET}"', '"SecretAccessKey": "[redacted:aws-secret-key]"'),
    ],
)  # fmt: skip
def test_the_value_is_taken_out_and_the_name_stays(text, clean):
    assert redact(text).text == clean
    assert redact(clean) == Redacted(clean, 0)


@pytest.mark.parametrize(
    "text",
    [
        "password: str",
        "password: str,",
        "password=None",
        "password = None",
        "password = get_password()",
        "password = getpass.getpass2('Password: ')",
        'password: ""',
        "password = ''",
        'password = os.environ["DB_PASSWORD"]',
        "password = os.environ.get('DB_PASSWORD1')",
        "password = settings.database.password1",
        "password=self.password2",
        "password = user_password2",
        "def login(user, password: str = ''): ...",
        "password: Optional[str] = None",
        "password: SecretStr",
        "password: string;",
        "password?: string",
        "password VARCHAR(255)",
        "password: float64",
        "password = ${DB_PASSWORD}",
        "password: $DB_PASSWORD",
        'password = f"{secret1}"',
        "password: {{ vault_password1 }}",
        "password: <your password here>",
        'password = "%s" % x1',
        "PASSWORD=$(cat secret1.txt)",
        "PASSWORD=********",
        "password: ********",
        'password = "changeme"',
        'type="password"',
        '{"password": "string"}',
        '"password": "must be at least 8 characters"',
        "password_hash = 'abcdef123456'",
        "passwordless = 'abcdef123456'",
        "min_password_length = 123456",
        "if password == other_1:",
        "if password != 'abc123':",
        "The password must have 8characters",
        "forgot your password? reset1234",
        "Enter password: ",
        "password:\n  abc123def",
        "PWD=/home/me/project1",
        "OLDPWD=/home/me/project1",
        "pwd && ls src1234",
        "NOPASSWD: ALL",
        "password: !vault encrypted1",
        "password: [redacted:password]",
        "bearer authentication is used here",
        "Bearer token-based-authentication-scheme",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${TOKEN_12345678901234}",
        "Authorization: Bearer <token-1234567890123456>",
        "Authorization: basic authentication",
        "http://localhost:8080/path@1",
        "http://localhost:8080 me@example.org",
        "https://github.com/user/repo",
        "git@github.com:user/repo.git",
        "postgres://user:password@localhost/db",
        "postgres://user:${PASSWORD}@localhost/db",
        "https://someone@example.org/x",
        "task-0123456789abcdef0123456789abcdef",
        "disk-0123456789abcdef0123456789abcdef",
        "sk-learn",
        "sk-toggleable__content-arrow-and-more",
        "ghp_tooshort",
        "AKIAINSIDEALONGERWORDTHATISNOKEY",
        "XAKIA" + "QYLPMN5HFIQR7XYA",
        "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIID\n-----END PUBLIC KEY-----",
        "",
        "\ud800 lone \udfff",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text):
    assert find_secrets(text) == ()
    assert redact(text) == Redacted(text, 0)


def test_the_body_of_a_key_goes_with_it_even_when_its_end_was_cut_off():
    cut = block("RSA ").rpartition("\n")[0]
    assert redact(f"before\n{cut}").text == "before\n[redacted:private-key]"
    escaped = json.dumps({"key": cut, "n": 1})
    assert redact(escaped).text == '{"key": "[redacted:private-key]", "n": 1}'


def test_what_follows_a_key_without_end_stays():
    text = "-----BEGIN RSA PRIVATE KEY-----\nThat is how such a file begins.\n"
    assert redact(text).text == "[redacted:private-key]\nThat is how such a file begins.\n"


def test_each_key_of_several_is_replaced_by_itself():
    text = f"a\n{block('RSA ')}\nb\n{block('EC ')}\nc"
    assert redact(text) == Redacted("a\n[redacted:private-key]\nb\n[redacted:private-key]\nc", 2)


def test_spans_say_where_and_what_in_order_without_overlap():
    text = f"{AWS_ID} and password={GITHUB[0]}"
    assert find_secrets(text) == (
        SecretSpan("aws-access-key-id", 0, 20),
        SecretSpan("github-token", 34, 34 + len(GITHUB[0])),
    )


def test_overlapping_finds_become_one():
    text = f'password = "prefix-{GITHUB[0]}"'
    assert redact(text) == Redacted('password = "[redacted:password]"', 1)


def test_rule_names_fit_into_the_mark():
    assert all(rule.name.replace("-", "").isalpha() and rule.name.islower() for rule in RULES)


HOSTILE = [
    "password",
    "password=",
    "password: a ",
    "password:a=",
    'password="',
    "password='\\",
    'password = \\\\\\"',
    "password" + " " * 50,
    "password: " + "a " * 20,
    "pwd ",
    "--password ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----" + "A" * 20 + "\\n",
    "-----END PRIVATE KEY----------BEGIN PRIVATE KEY-----",
    "sk-",
    "ghp_",
    "AKIA",
    "://",
    "://a:",
    "://a:b@",
    "bearer ",
    "Authorization: Basic ",
    "secret_access_key=",
    "a",
    "@",
    "\n",
]


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        *(("", piece) for piece in HOSTILE),
        *((start, "a") for start in ('password = "', "://a:", "bearer ", "sk-", "github_pat_")),
        # A find makes a second round necessary.
        *(("-----BEGIN PRIVATE KEY-----", piece) for piece in ("password=", "pwd ", "A", " ")),
    ],
)
def test_a_hostile_megabyte_is_done_within_a_second(start, piece):
    text = (start + piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    before = time.process_time()
    redact(text)
    assert time.process_time() - before < 1


def test_ordinary_text_costs_next_to_nothing():
    text = (
        "def total(items: list[Item]) -> int:\n    return sum(item.price for item in items)\n" * 30
    )[:2048]

    def cost():
        before = time.perf_counter()
        for _ in range(100):
            find_secrets(text)
        return (time.perf_counter() - before) / 100

    # 13 µs on an idle machine; the best of many, for a busy one.
    assert min(cost() for _ in range(20)) < 60e-6
