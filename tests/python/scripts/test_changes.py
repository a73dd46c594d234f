# SPDX-License-Identifier: BSD-3-Clause
"""The sampled tests of a share: those of the day, and those that the change concerns."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from changes import ImportGraph
from forked import server_of
from sampling import number_of

ROOT = Path(__file__).resolve().parents[3]
TEST = """
import pytest

@pytest.mark.sampled
@pytest.mark.parametrize("number", range(20))
def test_it(number):
    pass

def unused():
    {imports}
"""
PAGES = """
import pytest
from pathlib import Path

PAGES = sorted(Path(__file__).parents[1].glob("docs/*.md"))

@pytest.mark.sampled
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page):
    pass
"""
FILES = {
    "python/sdk/__init__.py": "",
    "python/sdk/tool/__init__.py": '_EXPORTS = {"cut": "sdk.tool._cut"}\nfrom sdk.tool._join import join\n',
    "python/sdk/tool/_cut.py": "import sdk.deep\n",
    "python/sdk/tool/_join.py": "",
    "python/sdk/deep.py": "",
    "tests/helper.py": "from sdk.tool import join\n",
    "tests/test_cut.py": TEST.format(imports="from sdk.tool import cut"),
    "tests/test_join.py": TEST.format(imports="import helper"),
    "tests/test_pages.py": PAGES,
    "docs/deep.md": "```python\nfrom sdk.deep import x\n```\n",
    **{f"docs/page{number}.md": "Text.\n" for number in range(19)},
    ".gitignore": "__pycache__\n",
}

NAMES = {
    **{name: [f"test_{name}.py::test_it[{number}]" for number in range(20)] for name in ("cut", "join")},
    "pages": [f"test_pages.py::test_page[{file.removeprefix('docs/')}]" for file in FILES if file.startswith("docs/")],
}
USUAL = {name: sum(number_of(f"tests/{test}") % 10 == 5 for test in tests) for name, tests in NAMES.items()}
"""Test file -> the number of its tests in sample 5 of 10."""


def git(tree: Path, *arguments: str) -> str:
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *author, *arguments], cwd=tree, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(tree: Path, date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, date)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", "-m", "change")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two days, with the settings of all tests."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for name in ("changes.py", "costs.py", "sampling.py", "seeds.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    markers = "markers =\n  sampled: x\npythonpath = tests python\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{markers}")
    git(tmp_path, "init", "-q")
    commit(tmp_path, "2024-05-05T23:00:00+0000", monkeypatch)
    return tmp_path


def run_pytest(
    tree: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, since: str, share: str
) -> subprocess.CompletedProcess[str]:
    monkeypatch.setenv("SDK_TEST_SHARE", share)
    monkeypatch.setenv("SDK_CHANGED_SINCE", since)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading the plugins would take longer than the tests
    server = server_of(sys.executable, ("pytest", "hypothesis", "xdist.plugin"))
    return server.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *arguments, cwd=tree)


def collected(
    tree: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, since: str = "", share: str = "5/10"
) -> str:
    done = run_pytest(tree, monkeypatch, "tests", *arguments, since=since, share=share)
    return done.stdout + done.stderr


def counts(output: str) -> dict[str, int]:
    """Counts the tests that ran, by file."""
    lines = [line for line in output.splitlines() if "::" in line]
    return {name: sum(line.startswith(f"tests/test_{name}") for line in lines) for name in ("cut", "join", "pages")}


@pytest.mark.parametrize(
    ("changed", "whole"),
    [
        ("tests/test_cut.py", {"cut": 20}),
        ("tests/helper.py", {"join": 20}),
        ("python/sdk/tool/_cut.py", {"cut": 20}),  # test_cut.py uses it through the table of names
        ("python/sdk/tool/_join.py", {"join": 20}),  # test_join.py uses it through the helper
        ("python/sdk/deep.py", {}),  # beyond the subjects of tests, but the page's
        ("docs/page3.md", {}),
    ],
)
def test_what_changed_is_in_every_share(
    changed: str, whole: dict[str, int], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tree / changed).open("a") as file:
        file.write("```python\nx = 1\n```\n" if changed.endswith(".md") else "CHANGED = True\n")
    page = {"python/sdk/deep.py": "deep.md", "docs/page3.md": "page3.md"}.get(changed)
    for _ in ("not committed", "committed today"):
        output = collected(tree, monkeypatch, "--collect-only")
        found = counts(output)
        if page is None:
            assert found == {**USUAL, **whole}
        else:
            assert f"test_page[{page}]" in output and 0 <= found.pop("pages") - USUAL["pages"] <= 1
            assert found == {"cut": USUAL["cut"], "join": USUAL["join"]}
        commit(tree, "2024-05-06T09:00:00+0000", monkeypatch)


@pytest.mark.parametrize(
    ("addition", "runs"),
    [
        ("More text, with `code` and ``` in it.\n", False),
        ("```bash\ntrue\n```\n", True),
        ("<!-- fails -->\n", True),  # on the line before a block
    ],
)
def test_a_page_has_changed_if_its_code_has(
    addition: str, runs: bool, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tree / "docs/page3.md").open("a") as file:
        file.write(addition)
    assert ("test_page[page3.md]" in collected(tree, monkeypatch, "--collect-only")) == runs


@pytest.mark.parametrize(
    ("addition", "runs"),
    [
        ("# A comment.\n", False),
        ('def function():\n    """Text."""\n', True),
        ('MESSAGE = "text"\n', True),
        ("x = (\n", True),  # cannot be parsed
    ],
)
def test_a_python_file_has_changed_unless_only_its_text_has(
    addition: str, runs: bool, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one process found is kept for the next one."""
    (tree / ".cache").mkdir()
    (tree / ".gitignore").write_text("__pycache__\n.cache\n")
    (tree / "python/sdk/tool/_cut.py").write_text('"""Text."""\nimport sdk.deep\n\n\nclass A:\n    """Text."""\n')
    commit(tree, "2024-05-05T10:00:00+0000", monkeypatch)
    commit(tree, "2024-05-06T08:00:00+0000", monkeypatch)
    text = '"""Other text."""\nimport sdk.deep\n\n\nclass A:\n    """Other\n    text."""\n' + addition
    (tree / "python/sdk/tool/_cut.py").write_text(text)
    for _ in ("found", "kept"):
        assert counts(collected(tree, monkeypatch, "--collect-only"))["cut"] == (20 if runs else USUAL["cut"])
    assert len(list((tree / ".cache/changes").iterdir())) == 1


def test_a_change_in_another_encoding(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "docs/latin.txt").write_bytes(b"caf\xe9\n")
    commit(tree, "2024-05-06T08:00:00+0000", monkeypatch)
    assert counts(collected(tree, monkeypatch, "--collect-only"))["cut"] == USUAL["cut"]


def test_the_log_says_what_ran_and_why(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = git(tree, "rev-parse", "--short=10", "HEAD")
    (tree / "tests/test_cut.py").write_text(FILES["tests/test_cut.py"] + "CHANGED = True\n")
    for processes in ([], ["-n", "1"]):
        said = collected(tree, monkeypatch, "-v", *processes, since="HEAD")
        kinds = "the sampled and the expensive tests"
        assert f"SDK_TEST_SHARE=5/10: this share of {kinds}, and those that changes since {first[:10]} concern" in said
        assert f"{20 - USUAL['cut']} sampled tests of other shares ran because the change concerns them" in said


@pytest.mark.parametrize("processes", [(), ("-n", "1")])
def test_a_share_without_tests_is_no_failure(
    processes: tuple[str, ...], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "tests/test_only.py").write_text("import pytest\n\n@pytest.mark.sampled\ndef test_one():\n    pass\n")
    has_it = number_of("tests/test_only.py::test_one") % 10
    for share in (has_it, (has_it + 1) % 10):
        done = run_pytest(tree, monkeypatch, *processes, "tests/test_only.py", since="none", share=f"{share}/10")
        assert done.returncode == pytest.ExitCode.OK, done.stdout
        assert ("1 passed" in done.stdout) == (share == has_it)
    nothing = ("tests/test_only.py", "-k", "other")
    done = run_pytest(tree, monkeypatch, *processes, *nothing, since="none", share=f"{has_it}/10")
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_upstream_branch_is_what_a_change_is_compared_with(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "branch", "-m", "landed")
    git(tree, "checkout", "-q", "-b", "mine", "--track", "landed")
    with (tree / "tests/test_cut.py").open("a") as file:
        file.write("CHANGED = True\n")
    commit(tree, "2024-05-06T09:00:00+0000", monkeypatch)
    (tree / "docs/new.md").write_text("Text.\n")
    commit(tree, "2024-05-07T09:00:00+0000", monkeypatch)
    output = collected(tree, monkeypatch, "--collect-only")
    assert counts(output)["cut"] == 20 and "test_page[new.md]" in output


def test_without_git_nothing_has_changed_and_a_wrong_commit_is_an_error(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counts(collected(tree, monkeypatch, "--collect-only", since="none")) == USUAL
    said = collected(tree, monkeypatch, since="no-such-branch")
    assert "SDK_CHANGED_SINCE is no-such-branch, and git knows no such commit; expected a commit or `none`" in said
    shutil.rmtree(tree / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tree.parent))
    assert counts(collected(tree, monkeypatch, "--collect-only")) == USUAL


def test_a_module_that_most_tests_import_is_the_subject_of_none(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        text = TEST.format(imports="import helper").replace("range(20)", "range(5)")
        (tree / f"tests/test_more{number}.py").write_text(text)
    with (tree / "tests/helper.py").open("a") as file:
        file.write("CHANGED = True\n")
    output = collected(tree, monkeypatch, "--collect-only")
    assert counts(output)["join"] < 5 and output.count("test_more3.py") == 5  # the new files have changed themselves


def test_a_change_that_concerns_very_many_tests_adds_a_part_of_them(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decorators = "@pytest.mark.sampled\n@pytest.mark.parametrize('n', range(1000))\n"
    many = f"import pytest\n{decorators}def test_one(n):\n    pass\n"
    (tree / "tests/test_many.py").write_text(many)
    found = set()
    for which in range(8):
        output = collected(tree, monkeypatch, "--collect-only", share=f"{which}/10")
        (added,) = re.findall(r"(\d+) sampled tests of other shares ran", output)
        assert 15 < int(added) < 45  # about MOST_ADDED of conftest.py
        found |= set(re.findall(r"test_many.py::test_one\[\d+\]", output))
    assert len(found) > 800


def test_the_subject_of_this_file() -> None:
    found = ImportGraph(ROOT).of(Path(__file__).resolve())
    assert {ROOT / "tests/changes.py", ROOT / "tests/sampling.py", ROOT / "conftest.py"} <= found
    program = ROOT / "tests/data/two_outputs.pte"
    assert program in ImportGraph(ROOT).of(program)
    of_page = ImportGraph(ROOT).of(ROOT / "docs/inspector.md")
    assert any(path.is_relative_to(ROOT / "python/sdk/devtools") for path in of_page)
