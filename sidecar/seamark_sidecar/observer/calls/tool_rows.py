"""What the tools of known agents and frameworks do, by name; users add rows of their own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from seamark_sidecar.observer.calls.use import Action, Origin

LARGEST_FILE = 1 << 20  # bytes
MOST_ROWS = 2_000


class Form(Enum):
    """How the arguments of a tool are read."""

    # By keys: a path, a pattern, an address.
    KEYS = "keys"
    # A command line.
    SHELL = "shell"
    # Code of a programming language.
    CODE = "code"
    # A patch or edit blocks, that name their files.
    PATCH = "patch"
    # One tool with a word that says what to do: view, create, str_replace, insert.
    EDITOR = "editor"
    # On the file that was opened before.
    OPEN_FILE = "open_file"
    # From one path to another.
    MOVE = "move"
    DELETE = "delete"
    # Browsers.
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class Row:
    """One tool."""

    action: Action
    form: Form = Form.KEYS
    origin: Origin | None = None


_READ = Row(Action.READ)
_EDIT = Row(Action.EDIT)
_WRITE = Row(Action.WRITE)
_TEXT = Row(Action.SEARCH_TEXT)
_FILES = Row(Action.SEARCH_FILES)
_SHELL = Row(Action.RUN, Form.SHELL)
_CODE = Row(Action.RUN, Form.CODE)
_PATCH = Row(Action.EDIT, Form.PATCH)
_EDITOR = Row(Action.EDIT, Form.EDITOR)
_WEB = Row(Action.WEB, origin=Origin.WEB)
_TRACKER = Row(Action.WEB, origin=Origin.ISSUE_TRACKER)
_VCS = Row(Action.VCS)
_PAGE = Row(Action.UI, Form.PAGE)
_UI = Row(Action.UI)
_SUBAGENT = Row(Action.OTHER, origin=Origin.SUBAGENT)
_OTHER = Row(Action.OTHER)
_TEST = Row(Action.TEST)
_RUN = Row(Action.RUN)


def _rows(row: Row, names: str) -> dict[str, Row]:
    return dict.fromkeys(names.split(), row)


# Names without case, and with `_` for every joint: `ReadFile` is `readfile`, `read-file` and
# `read.file` are `read_file`.
ROWS: Mapping[str, Row] = MappingProxyType({
    **_rows(
        _READ,
        "read read_file readfile read_text_file read_media_file read_multiple_files read_many_files"
        " read_files view view_file viewfile open_file cat file_read fs_read get_file_contents"
        " notebookread read_notebook view_code_item view_content_chunk view_file_outline"
        " readfiletool"
        " copilot_readfile get_file_text_by_path view_image read_file_content load_file",
    ),
    **_rows(
        _EDIT,
        "edit edit_file editfile multiedit multi_edit str_replace string_replace notebookedit"
        " edit_notebook edit_notebook_file replace replace_in_file replace_string_in_file"
        " multi_replace_string_in_file replace_file_content multi_replace_file_content"
        " insert_edit_into_file search_replace searchreplace modify_file update_file insert"
        " insert_content search_and_replace replace_text_in_file edit_files edit_text"
        " append_to_file"
        " replace_regex replace_symbol_body insert_after_symbol insert_before_symbol reapply"
        " insert_lines replace_lines delete_lines",
    ),
    **_rows(
        _WRITE,
        "write write_file writefile create_file createfile create write_to_file file_write"
        " save_file"
        " create_text_file new_file overwrite_file create_new_file write_text_file put_file",
    ),
    **_rows(
        _TEXT,
        "grep grep_search grep_files search search_dir search_file search_file_content"
        " search_code search_text codebase_search semantic_search ripgrep rg search_for_pattern"
        " search_in_files_by_text find_in_files code_search content_search search_codebase"
        " list_code_definition_names list_code_usages find_symbol find_referencing_symbols",
    ),
    **_rows(
        _FILES,
        "glob ls list_dir listdir list_directory list_files list_directory_with_sizes"
        " directory_tree find_file find_files file_search find_by_name find_path glob_files tree"
        " list_directory_tree list_files_in_folder find_files_by_glob globtool search_files"
        " get_file_tree file_glob_search view_directory list_dirs",
    ),
    **_rows(
        _SHELL,
        "bash shell sh zsh run run_command run_shell_command run_terminal_cmd run_terminal_command"
        " run_terminal_command_v2 run_in_terminal execute execute_bash execute_command exec"
        " exec_command local_shell terminal shell_command container_exec bash_tool shell_exec"
        " cmd cmd_run run_bash run_bash_command execute_shell_command command powershell"
        " bash_command task_shell_start unified_exec execute_terminal_command system_run",
    ),
    **_rows(
        _CODE,
        "python python_repl python_repl_ast execute_ipython_cell run_ipython code_interpreter"
        " execute_python run_python code_execution execute_code jupyter ipython run_code"
        " python_interpreter mcp_pylance_run_code",
    ),
    **_rows(
        _PATCH,
        "apply_patch applypatch apply_diff apply_edits edit_block edit_blocks editblock aider"
        " patch patch_file apply_unified_diff diff_edit udiff",
    ),
    **_rows(
        _EDITOR,
        "str_replace_editor str_replace_based_edit_tool text_editor edit_tool file_editor fs_write"
        " openhands_aci_editor str_replace_editor_tool developer_text_editor",
    ),
    **_rows(Row(Action.READ, Form.OPEN_FILE), "open goto scroll_up scroll_down"),
    **_rows(Row(Action.RUN, Form.MOVE), "move_file copy_file rename_file mv_file cp_file"),
    **_rows(Row(Action.RUN, Form.DELETE), "delete_file file_delete remove_file rm_file"),
    **_rows(
        _WEB,
        "webfetch web_fetch websearch web_search fetch fetch_url fetchurl read_url_content"
        " search_web"
        " google_web_search google_search fetch_webpage web_read read_url url_fetch browse"
        " requests_get requests_post duckduckgo_search duckduckgo_results_json tavily_search"
        " tavily_search_results_json brave_search serpapi bing_search wikipedia arxiv"
        " wolfram_alpha fetch_content get_url http_request curl scrape crawl firecrawl_scrape"
        " exa_search web_search_exa perplexity_search resolve_library_id get_library_docs"
        " query_docs search_documentation sourcegraph",
    ),
    **_rows(
        _TRACKER,
        "get_issue list_issues search_issues list_comments get_issue_comments get_pull_request"
        " list_pull_requests get_pull_request_comments get_pull_request_diff github_issue_context"
        " github_repo get_pull_request_files get_document list_documents issue_read"
        " pull_request_read jira_get_issue jira_search read_mcp_resource access_mcp_resource",
    ),
    **_rows(
        _VCS,
        "git git_status git_diff git_log git_show git_blame git_add git_commit git_checkout"
        " git_branch git_diff_staged git_diff_unstaged git_reset git_create_branch"
        " get_changed_files git_push git_stash",
    ),
    **_rows(_TEST, "run_tests runtests run_test test_runner pytest execute_tests test_failure"),
    **_rows(
        _PAGE,
        "browser browser_navigate browser_click browser_type browser_snapshot"
        " browser_take_screenshot"
        " browser_action browser_get_text browser_evaluate browser_wait_for browser_hover"
        " browser_fill_form browser_select_option browser_press_key browser_console_messages"
        " browser_network_requests browser_tabs browser_close browser_navigate_back"
        " puppeteer_navigate puppeteer_screenshot puppeteer_click puppeteer_fill puppeteer_evaluate"
        " playwright_navigate playwright_screenshot playwright_click navigate_page take_snapshot"
        " take_screenshot click fill navigate open_simple_browser browse_interactive goto_url"
        " extract_text get_elements current_webpage navigate_browser click_element"
        " extract_hyperlinks previous_webpage open_browser read_page get_page_text",
    ),
    **_rows(_UI, "computer computer_use screenshot mouse_move key_press left_click type_text"),
    **_rows(
        _SUBAGENT,
        "task agent dispatch_agent taskoutput agentoutput agentoutputtool agent_result agent_wait"
        " invoke_subagent runsubagent delegate new_task agent_spawn spawn_agent wait_agent"
        " delegate_work_to_coworker call_subagent subagent sub_agent",
    ),
    **_rows(
        _OTHER,
        "todowrite todoread write_todos todo_write update_plan think finish submit exitplanmode"
        " exit_plan_mode enterplanmode askuserquestion skill toolsearch slashcommand"
        " attempt_completion ask_followup_question save_memory create_directory",
    ),
    **_rows(_RUN, "getdiagnostics get_errors diagnostics bashoutput killshell kill_bash lsp"),
})  # fmt: skip

# Shells that stay where a `cd` led them, by their exact names.
KEEPS_DIRECTORY = frozenset({"Bash", "execute_bash", "run_in_terminal", "run_terminal_cmd"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRows:
    """What the user says about tools, programs and servers of their own."""

    tools: Mapping[str, Row] = field(default_factory=dict)
    programs: Mapping[str, Action] = field(default_factory=dict)
    trusted_servers: frozenset[str] = frozenset()


NO_ROWS = UserRows()
TOOLS_FILE = "tools.toml"  # of the data directory
_FORMS = {form.value: form for form in (Form.KEYS, Form.SHELL, Form.CODE, Form.PATCH, Form.EDITOR)}
_ORIGINS = {each.value: each for each in Origin}


def load_rows(path: Path) -> tuple[UserRows, tuple[str, ...]]:
    """The rows in a file, and what is wrong with the others; a file that is not there has none."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return NO_ROWS, (f"{path.name} is larger than {LARGEST_FILE:,} bytes",)
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return NO_ROWS, ()
    except (OSError, UnicodeDecodeError) as error:
        return NO_ROWS, (f"{path.name} cannot be read: {error}",)
    return parse_rows(text)


def parse_rows(text: str) -> tuple[UserRows, tuple[str, ...]]:
    """The same for a text."""
    try:
        parsed = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return NO_ROWS, (f"not TOML: {error}",)
    problems = [
        f"{key!r} is no part of this file"
        for key in parsed
        if key not in {"tools", "programs", "trusted_servers"}
    ]
    tools: dict[str, Row] = {}
    for name, value in _table(parsed, "tools", problems):
        row = _row(value)
        if isinstance(row, str):
            problems.append(f"tools.{name}: {row}")
        else:
            tools[tool_key(name)] = row
    programs: dict[str, Action] = {}
    for name, value in _table(parsed, "programs", problems):
        action = _action(value)
        if action is None:
            problems.append(f"programs.{name}: {value!r} is no action; use one of {_all_actions()}")
        else:
            programs[name] = action
    servers = parsed.get("trusted_servers", [])
    if not isinstance(servers, list) or not all(isinstance(each, str) for each in servers):
        problems.append("trusted_servers must be a list of names")
        servers = []
    rows = UserRows(
        tools=MappingProxyType(tools),
        programs=MappingProxyType(programs),
        trusted_servers=frozenset(servers),
    )
    return rows, tuple(problems)


def tool_key(name: str) -> str:
    """A tool's name as the table spells it."""
    key = name.strip().lower()
    if key.isidentifier():
        return key
    return "_".join(piece for piece in _split(key) if piece)


def _split(key: str) -> list[str]:
    for joint in "-./: \t":
        key = key.replace(joint, "_")
    return key.split("_")


def _table(parsed: dict[str, Any], key: str, problems: list[str]) -> list[tuple[str, Any]]:
    table = parsed.get(key, {})
    if not isinstance(table, dict):
        problems.append(f"{key} must be a table")
        return []
    if len(table) > MOST_ROWS:
        problems.append(f"{key} has more than {MOST_ROWS:,} rows; the rest is left out")
    return list(table.items())[:MOST_ROWS]


def _row(value: object) -> Row | str:
    """The row, or what is wrong with it."""
    if isinstance(value, str):
        value = {"action": value}
    if not isinstance(value, dict):
        return "use an action, or a table with an action"
    action = _action(value.get("action"))
    if action is None:
        return f"{value.get('action')!r} is no action; use one of {_all_actions()}"
    form = _FORMS.get(str(value.get("form", "shell" if action is Action.RUN else "keys")))
    if form is None:
        return f"{value['form']!r} is no form; use one of {', '.join(_FORMS)}"
    origin = value.get("origin")
    if origin is not None and origin not in _ORIGINS:
        return f"{origin!r} is no origin; use one of {', '.join(_ORIGINS)}"
    unknown = [key for key in value if key not in {"action", "form", "origin"}]
    if unknown:
        return f"{unknown[0]!r} is not known; use action, form and origin"
    return Row(action, form, _ORIGINS[origin] if origin is not None else _web_origin(action))


def _web_origin(action: Action) -> Origin | None:
    return Origin.WEB if action is Action.WEB else None


def _action(value: object) -> Action | None:
    return Action(value) if isinstance(value, str) and value in set(Action) else None


def _all_actions() -> str:
    return ", ".join(Action)
