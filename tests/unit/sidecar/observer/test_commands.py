"""What a whole command line means."""

import pytest

from seamark_sidecar.observer.calls.commands import meaning_of
from seamark_sidecar.observer.calls.use import CHANGES, Action, Origin, Shows, Touch
from seamark_sidecar.observer.calls.workplace import Workplace

ROOT = "/home/dev/shop"


def meaning(command, workplace=None, **options):
    return meaning_of(command, workplace or Workplace.at(ROOT), **options)


def touched(command):
    return {touch.path: str(touch.action) for touch in meaning(command).touches}


# command, action, what is touched and how
COMMANDS = [
    ("cat a.py", "read", {"a.py": "read"}),
    ("cat a.py b/c.py | head -5", "read", {"a.py": "read", "b/c.py": "read"}),
    ("nl -ba a.py | sed -n '3,9p'", "read", {"a.py": "read"}),
    ("less Makefile", "read", {"Makefile": "read"}),
    ("wc -l a.py", "read", {"a.py": "read"}),
    ("awk 'NR>=3 && NR<=9' a.py", "read", {"a.py": "read"}),
    ("cat a.py | grep x", "search_text", {"a.py": "read"}),
    ("sed -n 1,5p a.py | grep -n x", "search_text", {"a.py": "read"}),
    ("grep -rn x src | head", "search_text", {}),
    ("grep -rn x src | grep -v test", "search_text", {}),
    ("git grep x -- src", "search_text", {}),
    ("rg -t py x", "search_text", {}),
    ("ag x src", "search_text", {}),
    ("find . -name '*.py' | xargs grep -l x", "search_text", {}),
    ("find . -name '*.py' -exec grep -l x {} +", "search_text", {}),
    ("find . -name '*.py' | grep x", "search_files", {}),
    ("fd cart src", "search_files", {}),
    ("ls -la src | head -3", "search_files", {}),
    ("git ls-files | grep x", "search_files", {}),
    ("rg --files src", "search_files", {}),
    ("sed -i 's/a/b/' a.py", "edit", {"a.py": "edit"}),
    ("sed -i '' 's/a/b/' a.py", "edit", {"a.py": "edit"}),
    ("sed -i.bak -e s/a/b/ -e s/c/d/ a.py b.py", "edit", {"a.py": "edit", "b.py": "edit"}),
    ("perl -pi -e 's/a/b/' a.py", "edit", {"a.py": "edit"}),
    ("sort -o a.txt a.txt", "edit", {"a.txt": "edit"}),
    ("ed a.py <<E\n1d\nw\nE", "edit", {"a.py": "edit"}),
    ("cat > a.py <<'E'\nx\nE", "write", {"a.py": "write"}),
    ("cat <<E >> a.py\nx\nE", "write", {"a.py": "write"}),
    ("echo x > a.txt", "write", {"a.txt": "write"}),
    ("echo x | tee a.txt", "write", {"a.txt": "write"}),
    ("tee a.txt <<E\nx\nE", "write", {"a.txt": "write"}),
    ("head -5 a.py > b.py", "write", {"a.py": "read", "b.py": "write"}),
    ("cat > a.py <<E\nx\nE\npytest a.py", "write", {"a.py": "write"}),
    ("sed -i s/a/b/ a.py && cat a.py", "edit", {"a.py": "read"}),
    ("pytest -x 2>&1 | tee log.txt", "test", {"log.txt": "write"}),
    ("git diff > a.patch", "vcs", {"a.patch": "write"}),
    ("python a.py > out.txt", "run", {"out.txt": "write"}),
    ("python -c \"open('a.py', 'w')\"", "edit", {"a.py": "edit"}),
    ("python - <<E\np = 'a.py'\nopen(p, 'w')\nE", "edit", {"a.py": "edit"}),
    ("python -c \"open('/tmp/x', 'w')\"", "run", {}),
    ("cp a.py b.py", "run", {"b.py": "write"}),
    ("mv a.py src/", "run", {"src/a.py": "write"}),
    ("touch a.py", "run", {"a.py": "write"}),
    ("git status && cat a.py", "vcs", {"a.py": "read"}),
    ("mkdir -p x && echo hi", "run", {}),
    ("gh pr view 3 | head", "web", {}),
    ("curl -s https://example.org | head", "web", {}),
    ("curl localhost:8000/x", "run", {}),
    ("sudo env A=1 timeout 60 cat a.py", "read", {"a.py": "read"}),
    ("bash -lc 'cd src && cat a.py'", "read", {"src/a.py": "read"}),
    ("patch -p1 <<E\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\nE", "edit", {"a.py": "edit"}),
    ("git apply <<E\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\nE", "edit", {"a.py": "edit"}),
    ("apply_patch <<E\n*** Begin Patch\n*** Add File: a.py\n+x\nE", "edit", {"a.py": "write"}),
    ("str_replace_editor view a.py", "read", {"a.py": "read"}),
    ("echo hello", "run", {}),
    ("", "run", {}),
    (")))", "run", {}),
    ("<details>\n  12→ <summary>x</summary>", "run", {}),
]  # fmt: skip


@pytest.mark.parametrize(("command", "action", "touches"), COMMANDS)
def test_a_command_means_the_most_telling_of_its_parts(command, action, touches):
    assert (str(meaning(command).action), touched(command)) == (action, touches)


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -q tests/test_a.py::test_b", "pytest"),
        ("python3 -m pytest", "pytest"),
        ("python -m unittest discover", "unittest"),
        ("uv run --with x pytest -q", "pytest"),
        ("poetry run pytest", "pytest"),
        ("coverage run -m pytest", "pytest"),
        ("tox -e py311", "tox"),
        ("nox -s tests", "nox"),
        ("python manage.py test shop", "manage.py test"),
        ("./tests/runtests.py shop", "runtests"),
        ("bin/test core", "test"),
        ("npm test", "npm test"),
        ("npm run test:unit -- --watch=false", "npm test:unit"),
        ("yarn test", "yarn test"),
        ("pnpm run test", "pnpm test"),
        ("npx vitest run", "vitest"),
        ("npx jest src", "jest"),
        ("mocha", "mocha"),
        ("bun test", "bun test"),
        ("go test ./... -run X -count=1", "go test"),
        ("cargo test --lib", "cargo test"),
        ("mvn -q test", "mvn test"),
        ("./gradlew :app:testDebug", "gradlew :app:testDebug"),
        ("bundle exec rspec spec", "rspec"),
        ("vendor/bin/phpunit", "phpunit"),
        ("ctest --test-dir build", "ctest"),
        ("make -j4 test", "make test"),
        ("make check", "make check"),
        ("mise run test:ci", "mise test:ci"),
        ("just test", "just test"),
        ("docker exec web pytest", "pytest"),
        ("cd sub && time pytest | tail -5", "pytest"),
    ],
)
def test_runs_of_tests_are_known_by_their_runner(command, runner):
    found = meaning(command)
    assert (found.action, found.runner) == (Action.TEST, runner)


@pytest.mark.parametrize(
    "command",
    [
        "make", "npm run build", "go build ./...", "cargo check", "python test_once.py",
        "./test-harness.sh start", "npm install", "mvn package", "test -f a", "[ -f a ]",
        "node test.js", "mise install", "cat > /dev/null",
    ],
)  # fmt: skip
def test_what_is_no_run_of_tests_has_no_runner(command):
    assert meaning(command).runner == ""


@pytest.mark.parametrize(
    ("command", "origin"),
    [
        ("curl -s https://example.org", Origin.WEB),
        ("wget https://example.org/a.tar.gz", Origin.DOWNLOAD),
        ("curl -o a.json https://example.org/a", Origin.DOWNLOAD),
        ("gh issue view 3", Origin.ISSUE_TRACKER),
        ("gh pr comment 3 --body x", None),
        ("gh pr checkout 3", Origin.FOREIGN_BRANCH),
        ("git clone https://example.org/x.git", Origin.DOWNLOAD),
        ("git pull && ls", Origin.DOWNLOAD),
        ("git fetch origin", Origin.DOWNLOAD),
        ("git show origin/feature:a.py", Origin.FOREIGN_BRANCH),
        ("git merge FETCH_HEAD", Origin.FOREIGN_BRANCH),
        ("git log origin/main", None),
        ("pip install x", Origin.PACKAGES),
        ("python -m pip install x", Origin.PACKAGES),
        ("uv add x", Origin.PACKAGES),
        ("npm i x", Origin.PACKAGES),
        ("go get x", Origin.PACKAGES),
        ("sudo apt-get install -y x", Origin.PACKAGES),
        ("pip list", None),
        ("npm run build", None),
        ("cat node_modules/x/i.js", Origin.DEPENDENCY),
        ("grep -rn x .venv/lib", Origin.DEPENDENCY),
        ("scp host:a .", Origin.DOWNLOAD),
        ("aws s3 cp s3://x/y .", Origin.DOWNLOAD),
        ("curl http://127.0.0.1:8000", None),
        ("cat a.py", None),
        ("x=$(curl -s https://example.org)", Origin.WEB),
    ],
)
def test_what_brings_outside_text_is_known(command, origin):
    assert meaning(command).origin is origin


def test_the_lines_shown_or_changed_are_known():
    def spans(command):
        return [(each.first_line, each.last_line) for each in meaning(command).touches]

    assert spans("sed -n '3,9p' a.py") == [(3, 9)]
    assert spans("nl -ba a.py | sed -n '3,9p'") == [(3, 9)]
    assert spans("head -n 20 a.py") == spans("head -20 a.py") == [(1, 20)]
    assert spans("sed -i '7s/a/b/' a.py") == [(7, 7)]
    assert spans("sed -i '7,$d' a.py") == [(7, 0)]
    assert spans("awk 'NR>=3 && NR<=9' a.py") == [(3, 9)]


def test_an_edit_says_what_it_replaces():
    assert [touch.replaced for touch in meaning("sed -i 's/old/new/g' a.py").touches] == ["old"]


def test_a_search_keeps_its_patterns_and_places():
    found = meaning("cd src && grep -rn -A 3 'def x' core -e y | head")
    assert (found.patterns, tuple(found.places), found.directory) == (
        ("y",),
        ("src/def x", "src/core"),
        "src",
    )
    assert meaning("find src -name '*.py' | xargs grep -l x").patterns == ("x",)


def test_paths_count_from_where_the_shell_went():
    assert touched("cd src && cat a.py ../b.py") == {"src/a.py": "read", "b.py": "read"}
    assert touched("(cd src && cat a.py); cat b.py") == {"src/a.py": "read", "b.py": "read"}
    assert touched(f"cd {ROOT}/src; cat a.py") == {"src/a.py": "read"}
    assert touched("git -C src diff && cat a.py") == {"a.py": "read"}


@pytest.mark.parametrize("command", ["cat /etc/hosts", "cat ~/x.py", "cd /elsewhere && cat x.py"])
def test_what_lies_outside_is_kept_apart(command):
    found = meaning(command)
    assert (list(found.touches), len(found.outside)) == ([], 1)


def test_a_command_shows_where_the_project_lies():
    place = Workplace.at("")
    meaning("cd /srv/build/shop && git status", place)
    found = meaning("cat /srv/build/shop/src/a.py", place)
    assert [touch.path for touch in found.touches] == ["src/a.py"]


def test_files_that_go_are_known():
    assert list(meaning("rm -f a.py b.py && rm -rf d").gone) == ["a.py", "b.py", "d"]
    assert list(meaning("mv a.py b.py").gone) == ["a.py"]
    assert list(meaning("git rm a.py").gone) == ["a.py"]
    assert list(meaning("rm a.py && echo x > a.py").gone) == []


def test_files_that_are_set_back_are_known():
    assert list(meaning("git checkout -- a.py").reverted) == ["a.py"]
    assert list(meaning("git checkout a.py b.py").reverted) == ["a.py", "b.py"]
    assert list(meaning("git restore a.py").reverted) == ["a.py"]
    assert list(meaning("git restore --staged a.py").reverted) == []
    assert list(meaning("git reset --hard").reverted) == ["."]
    assert list(meaning("git checkout main").reverted) == []
    assert list(meaning("git checkout a.py && sed -i s/x/y/ a.py").reverted) == []


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ("git diff", Shows.DIFF),
        ("git diff HEAD -- src", Shows.DIFF),
        ("git diff --cached a.py", Shows.DIFF),
        ("git add -A && git diff --name-only", Shows.NAMES),
        ("git status --short", Shows.STATUS),
        ("git diff main..HEAD", Shows.NOTHING),
        ("git diff HEAD~1", Shows.NOTHING),
        ("git show", Shows.NOTHING),
    ],
)
def test_a_look_at_the_working_tree_is_told_from_one_at_the_history(command, shows):
    assert meaning(command).shows is shows


def test_a_script_that_was_written_before_changes_its_files_when_it_runs():
    place = Workplace.at(ROOT)
    place.know(["src/a.py", "src/b.py"])
    meaning("cat > fix.py <<E\nopen('src/a.py', 'w')\nopen('made.py', 'w')\nE", place)
    meaning("cat > fix.sh <<E\nsed -i s/a/b/ src/b.py\nE", place)

    def changed(command):
        return [each.path for each in meaning(command, place).touches if each.action in CHANGES]

    assert changed("python fix.py") == ["src/a.py"]
    assert changed("bash fix.sh") == ["src/b.py"]
    assert changed("./fix.sh") == ["src/b.py"]
    assert changed("python other.py") == []


def test_a_patch_that_was_written_before_changes_its_files_when_it_is_applied():
    place = Workplace.at(ROOT)
    place.know(["a.py"])
    meaning("cat > x.patch <<E\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\nE", place)
    for command in ("git apply x.patch", "patch -p1 < x.patch"):
        assert Touch("a.py", Action.EDIT) in meaning(command, place).touches


def test_an_editor_that_shows_one_file_is_followed():
    place = Workplace.at(ROOT)
    meaning("open src/a.py 10", place)
    found = meaning("edit 3:5\nrm -rf everything\nend_of_edit", place)
    assert list(found.touches) == [Touch("src/a.py", Action.EDIT, 3, 5)]
    assert list(found.gone) == []


def test_a_workplace_stays_bounded():
    place = Workplace.at(ROOT)
    for number in range(5_000):
        place.know([f"f{number}.py"])
        place.note_script(f"s{number}.py", [f"f{number}.py"])
    assert place.size() < 500_000
    assert place.effects("s4999.py") == ("f4999.py",)
