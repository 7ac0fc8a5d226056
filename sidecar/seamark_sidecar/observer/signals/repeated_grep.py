"""The same search again and again, and which one finally worked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from seamark.events import ToolCalled
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, read_files, returned_use
from seamark_sidecar.observer.behaviour.file_roles import is_generated, looks_like_scratch
from seamark_sidecar.observer.behaviour.windows import keep_heaviest, make_room
from seamark_sidecar.observer.calls.use import COMMANDS, Action, ToolUse
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.results.result import Result
from seamark_sidecar.observer.text.wording import finding_key, one_line

LEAST_REPEATS = 2
EARLY_REPEATS = 3
MOST_QUERIES = 300
MOST_TIMES = 12
MOST_FOUND = 200
MOST_PATTERN = 200
MOST_PLACES = 8
# Steps within which reading what a search found shows that it worked.
WORKED_STEPS = 5
# Steps after the last repetition in which another search may be what worked.
ANSWER_STEPS = 15
MOST_OPEN = 8
MOST_SIGNALS = 20
MOST_CHANGED = 32
LEAST_PATTERN = 2
LONGEST_COMMAND = 400
MOST_ASKED = 32

_ESCAPE = re.compile(r"\\([^\w\s])")
_PATH = re.compile(r"\.{0,2}/[\w./-]{0,200}$")
# What may change files without naming them: a script, code on the command line, a sweep.
_SCRIPT = re.compile(
    r"\b(?:python[\d.]{0,4}|node|bash|sh|perl|ruby)\s+(?:-[ce]\b|-\s|<<|[\w./-]{1,100}\.\w{1,4})|<<|"
    r"\bxargs\b|\bsed\s+-i|\bperl\s+-p|\b(?:git\s+)?mv\b|\bgit\s+(?:apply|pull|merge|rebase|switch)\b"
)
# Only some lines of a file reach the search.
_PART = re.compile(r"\b(?:sed\s+-n|head|tail)\b[^|]{0,300}\|\s{0,4}(?:e|f)?grep\b")
_EDGE = re.compile(r"^\^|\$$|\\b|\\<|\\>")


@dataclass(slots=True)
class _Query:
    pattern: str
    places: tuple[str, ...]
    first_step: int
    steps: tuple[int, ...]
    # Matches of each, -1 where unknown.
    counts: tuple[int, ...] = ()
    times: tuple[float, ...] = ()
    # How many changes the session had made when it was last run.
    changes: int = 0
    worked: str = ""
    worked_in: str = ""
    led_to: str = ""


@dataclass(slots=True)
class _Search:
    pattern: str
    place: str
    step: int
    found: frozenset[str]


class RepeatedGrep:
    """Counts searches by pattern and place; one after a change there is another search."""

    def __init__(self) -> None:
        self._queries: dict[str, _Query] = {}
        self._open: dict[str, _Query] = {}
        self._last: _Search | None = None
        self._changes = 0
        # The words of the searches under way.
        self._asked: dict[str, str] = {}
        # The search that nothing has followed yet, with its words.
        self._just_searched = ("", "")
        self._had_matches = False
        self._changed_anywhere = 0
        # Path to the number of its last change, the latest last.
        self._changed: dict[str, int] = {}

    def see(self, moment: Moment) -> None:
        if isinstance(moment.body, ToolCalled):
            if moment.use is not None and moment.use.action is Action.SEARCH_TEXT:
                make_room(self._asked, MOST_ASKED)
                self._asked[moment.body.call_id] = moment.body.arguments_json[:LONGEST_COMMAND]
            return
        use = returned_use(moment)
        if use is None or moment.result is None:
            return
        if use.reverted or (use.action in COMMANDS and _SCRIPT.search(use.command)):
            # A script may change anything.
            self._changes += 1
            self._changed_anywhere = self._changes
        for path in changed_files(moment):
            self._changes += 1
            self._changed.pop(path, None)
            make_room(self._changed, MOST_CHANGED)
            self._changed[path] = self._changes
        if use.action is Action.SEARCH_TEXT:
            if use.patterns and _was_asked(use, moment.result):
                self._searched(use, moment.result, moment)
        else:
            self._just_searched = ("", "")
            self._followed(read_files(moment), moment.step)

    def signals(self) -> Iterable[Signal]:
        repeated = [each for each in self._queries.values() if len(each.steps) >= LEAST_REPEATS]
        repeated.sort(key=lambda query: query.steps[1])
        return [_signal(query) for query in repeated[:MOST_SIGNALS]]

    def size(self) -> int:
        return 800 * len(self._queries)

    def shrink(self) -> None:
        keep_heaviest(self._queries, 1, _repeats)
        self._open.clear()

    def _searched(self, use: ToolUse, result: Result, moment: Moment) -> None:
        pattern = one_line(" | ".join(use.patterns[:4]))[:MOST_PATTERN]
        normal = " | ".join(normalised(each) for each in use.patterns[:4])[:MOST_PATTERN]
        places = _places(use)
        key = f"{normal}\n{' '.join(places)}"
        asked = self._asked.pop(use.call_id, "")
        before, self._just_searched = self._just_searched, (key, asked)
        # The same matches shown otherwise: with other options, and nothing done between.
        is_closer_look = before[0] == key and before[1] != asked and self._had_matches
        self._had_matches = result.match_count != 0
        self._last = _Search(
            pattern, ", ".join(places[:2]), moment.step, frozenset(result.found[:MOST_FOUND])
        )
        if not _is_question(normal, places):
            return
        query = self._queries.get(key)
        if query is None:
            keep_heaviest(self._queries, MOST_QUERIES, _repeats)
            query = self._queries[key] = _Query(pattern, places, moment.step, ())
        elif query.steps[-1] == moment.step or is_closer_look:
            return
        elif self._has_changed(query) or (query.counts[-1] > 0 and result.match_count == 0):
            # What was changed is looked at again: a new question in the same words.
            query.changes = self._changes
            if len(query.steps) >= LEAST_REPEATS:
                return
            query.steps, query.counts, query.times = (), (), ()
        query.changes = self._changes
        query.steps = (*query.steps[-MOST_TIMES:], moment.step)
        query.counts = (*query.counts[-MOST_TIMES:], result.match_count)
        query.times = (*query.times[-MOST_TIMES:], moment.time)
        if len(query.steps) >= LEAST_REPEATS:
            query.worked = query.led_to = ""
            self._open.pop(key, None)
            if len(self._open) >= MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[key] = query

    def _has_changed(self, query: _Query) -> bool:
        """Whether something may have been changed since, where the query looks."""
        if self._changed_anywhere > query.changes:
            return True
        for path, number in islice(reversed(self._changed.items()), MOST_CHANGED):
            if number <= query.changes:
                return False
            if not query.places or any(_is_under(path, place) for place in query.places):
                return True
        return False

    def _followed(self, read: tuple[str, ...], step: int) -> None:
        search = self._last
        if search is None or step - search.step > WORKED_STEPS:
            self._last = None
            return
        led_to = next((path for path in read if path in search.found), "")
        if not led_to:
            return
        for key in list(self._open):
            query = self._open[key]
            if search.step - query.steps[-1] <= ANSWER_STEPS:
                query.worked, query.worked_in, query.led_to = search.pattern, search.place, led_to
            del self._open[key]
        self._last = None


def normalised(pattern: str) -> str:
    """The pattern without what does not change what is meant."""
    plain = _EDGE.sub("", _ESCAPE.sub(r"\1", pattern[:MOST_PATTERN].strip()))
    return one_line(plain.strip("\"'`/ ")).lower()


def _places(use: ToolUse) -> tuple[str, ...]:
    """Where it looks; of a command that says so by wildcards, as it says it."""
    known = (*use.places, *use.outside)[:MOST_PLACES]
    if not known:
        words = use.command[:LONGEST_COMMAND].partition("|")[0].split()
        known = tuple(word for word in words if "*" in word and "/" in word)[:MOST_PLACES]
    return tuple(sorted(place for place in known if place != "."))


def _was_asked(use: ToolUse, result: Result) -> bool:
    """Whether the whole of its places was searched."""
    if result.failure is not None and not result.failure.was_run:
        return False
    return not _PART.search(use.command)


def _is_question(pattern: str, places: tuple[str, ...]) -> bool:
    """Whether it asks something of the project that has one answer."""
    if len(pattern) < LEAST_PATTERN or _PATH.match(pattern):
        return False
    # What a run makes anew, or the agent made for itself, is looked at after every run.
    return not places or not all(
        is_generated(place) or looks_like_scratch(place) for place in places
    )


def _is_under(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place.rstrip('/')}/")


def _repeats(query: _Query) -> float:
    return len(query.steps)


def _signal(query: _Query) -> Signal:
    count = len(query.steps)
    between = zip(query.times, query.times[1:], strict=False)
    content = _wording(query)
    return Signal(
        kind=SignalKind.REPEATED_GREP,
        step=query.steps[1],
        confidence=round(min(0.95, 0.65 + 0.1 * count), 2),
        key=finding_key("repeated_grep", f"{normalised(query.pattern)} {' '.join(query.places)}"),
        files=(query.led_to,) if query.led_to else (),
        details={
            "pattern": query.pattern,
            "places": query.places,
            "count": count,
            "steps": query.steps,
            "match_counts": query.counts,
            "ms_between": tuple(round(1000 * max(0.0, later - one)) for one, later in between),
            "worked": query.worked,
            "worked_in": query.worked_in,
            "led_to": query.led_to,
        },
        content=content,
        type=(MemoryType.GOTCHA if query.places else MemoryType.MODULE_INSIGHT)
        if content
        else None,
        early=count >= EARLY_REPEATS,
    )


def _wording(query: _Query) -> str:
    count = len(query.steps)
    where = f" in `{', '.join(query.places[:2])}`" if query.places else ""
    said = f"Agents search for `{query.pattern}`{where} again and again ({count} times)"
    if query.led_to and query.worked == query.pattern:
        return f"{said}; what they look for is in `{query.led_to}`."
    if query.led_to:
        there = f" in `{query.worked_in}`" if query.worked_in else ""
        return f"{said}; what worked was `{query.worked}`{there}, which led to `{query.led_to}`."
    if query.counts and all(found == 0 for found in query.counts):
        return f"{said} and find nothing."
    return ""
